"""A wing: indexes of words and vectors on a Milvus server, which several servers of this application share."""
