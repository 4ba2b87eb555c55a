"""The texts of indexes on a Milvus server."""

from chatbot_mvp.plugins.rows import Texts

TEXTS = Texts(__name__)
