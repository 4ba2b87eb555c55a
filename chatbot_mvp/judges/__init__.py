"""Language models as judges: structured replies, the metrics of Ragas, and agreement with human labels."""
