"""Tests whether the mean of a metric fell from one configuration to another by more than is accepted.

The test is one of *non-inferiority*: "not worse" is shown by the interval of the paired change, and without enough
questions the verdict is "unclear", never "not worse".
"""
