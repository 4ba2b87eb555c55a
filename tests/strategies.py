"""The strategies of the kernel. Those that wings and packages add are tested beside them."""

from chatbot_mvp.plugins.finding import names_added
from chatbot_mvp.retrieval.strategies import STRATEGIES

OWN_STRATEGIES = tuple(name for name in STRATEGIES if name not in names_added("strategy"))
