"""A wing: score the answers of any RAG system with the metrics of Ragas, in runs that can be resumed."""
