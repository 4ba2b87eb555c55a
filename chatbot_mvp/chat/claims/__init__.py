"""Compare what a sentence says with what a passage says, without a model.

``reading`` takes a text apart, ``quantities`` finds its figures, ``alignment`` lays a statement beside its passage.
``signs`` finds what it says otherwise, and ``comparison`` weighs and names that.
"""
