"""The pages' side of the wings of ``chatbot_mvp.wings``."""
