"""The texts of the strategy with a follow-up query."""

from chatbot_mvp.plugins.rows import Texts

TEXTS = Texts(
    es={"strategy.BRIDGE_FOLLOW_UP": "palabras, vectores y enlaces, y otra consulta de un modelo"},
    en={"strategy.BRIDGE_FOLLOW_UP": "words, vectors and links, and one more query of a model"},
)
