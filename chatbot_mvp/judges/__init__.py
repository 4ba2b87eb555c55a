"""A language model as judge: structured replies, what is asked for, and how far a judge can be trusted."""
