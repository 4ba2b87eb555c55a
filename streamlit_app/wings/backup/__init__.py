"""The texts of backup."""

from chatbot_mvp.plugins.rows import Texts

TEXTS = Texts(__name__)
