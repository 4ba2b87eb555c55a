"""A wing: promise a share of wrong answers, from questions that people labelled.

The field calls this *risk control*: a threshold is chosen so that the risk, the share of wrong answers among those
given, stays below a level with a stated confidence (Learn-then-Test, Angelopoulos et al. 2021, arXiv:2110.01052).
"""
