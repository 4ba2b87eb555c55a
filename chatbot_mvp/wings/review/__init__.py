"""A wing: people judge the answers that the chat gave, and the verdicts become labelled questions."""
