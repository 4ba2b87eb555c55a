"""Score any data set of answers with Ragas metrics, in a run that can be resumed after an interruption."""
