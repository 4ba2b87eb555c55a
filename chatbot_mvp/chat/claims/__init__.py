"""Compare what a sentence says with what a passage says, without a model: negations, names, figures, quantifiers.

``reading`` reads a text into words and clauses, ``quantities`` its figures, ``comparison`` holds two readings against
each other and names what differs.
"""
