"""The texts of the strategy with a follow-up query."""

from chatbot_mvp.plugins.rows import Texts

TEXTS = Texts(
    es={"strategy.BRIDGE_FOLLOW_UP": "BRIDGE_HYBRID y una consulta más de un modelo de lenguaje, por lo que faltaba"},
    en={"strategy.BRIDGE_FOLLOW_UP": "BRIDGE_HYBRID, and one more query of a language model, for what was missing"},
)
