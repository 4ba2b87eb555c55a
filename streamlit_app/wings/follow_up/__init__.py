"""The texts of the strategy with a follow-up query."""

from chatbot_mvp.plugins.rows import Texts

TEXTS = Texts(
    es={
        "strategy.BRIDGE_FOLLOW_UP": "palabras, vectores y enlaces, y una consulta más de un modelo por lo que faltaba"
    },
    en={"strategy.BRIDGE_FOLLOW_UP": "words, vectors and links, and one more query of a model for what was missing"},
)
