"""The texts of runs on a Ray cluster."""

from chatbot_mvp.plugins.rows import Texts

TEXTS = Texts(__name__)
