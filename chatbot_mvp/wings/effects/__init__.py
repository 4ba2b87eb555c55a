"""A wing: what a change of documents does to the answers, by asking two versions of a knowledge base the same."""
