"""Language models as judges: structured replies, and scores read from them."""
