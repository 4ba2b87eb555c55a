"""Answer a question with quotes from ranked passages, without a language model.

``units`` splits passages into what can be quoted, ``kinds`` reads what kind of answer a question asks for, ``scoring``
compares units with the question, ``chain`` finds names that link one passage to another, and ``choice`` picks the
answer. Where an answer has to be proven, ``tables`` and ``cells`` read it from the cells of a table; if they cannot,
``values`` reads what value a question asks for, and ``proof`` decides.
"""

from chatbot_mvp.llm.extractive.choice import Choice, choose
from chatbot_mvp.llm.extractive.units import Unit

__all__ = ["Choice", "Unit", "choose"]
