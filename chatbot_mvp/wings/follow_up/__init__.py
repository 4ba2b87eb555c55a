"""A retrieval strategy whose language model asks for what the first search did not find."""
