"""The texts of the gate's errors."""

from chatbot_mvp.plugins.rows import Texts

TEXTS = Texts(__name__)
