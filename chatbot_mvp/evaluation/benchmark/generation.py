"""Build the prompt that generates an answer in a run, clean up the reply, and detect abstentions.

Passages are selected and fenced as in the chat. Only the instructions differ, because the reference answers of a
benchmark have one or two words, while answers in the chat are longer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from chatbot_mvp.chat.prompting import numbered_passages
from chatbot_mvp.datasets import Query
from chatbot_mvp.llm.base import ChatOptions, ChatRequest, Grounding, Message
from chatbot_mvp.llm.thoughts import without_thoughts
from chatbot_mvp.metrics.answers.text import normalise
from chatbot_mvp.prompting.fence import as_data, fence_name, from_data
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
_MARKS = re.compile(r"(?<!\s)\s*+\[\d{1,2}(?:\s*[,;]\s*\d{1,2})*\]")
_LABEL = re.compile(r"\A\W*(?:(?:the )?(?:final )?answer|(?:la )?respuesta(?: final)?)\s*(?:is|es)?\s*:\s*", re.I)
_UNKNOWN = {
    "en": re.compile(
        r"^(?:i (?:do ?nt|do not|cannot|cant) (?:know|tell|say|answer|determine)|i am not sure|"
        r"unknown$|not enough info|"
        r"(?:the )?(?:passages|context|text|information) (?:do|does|is|are) ?(?:not|nt))"
    ),
    "es": re.compile(
        r"^(?:no (?:lo )?s[eé]|no (?:lo )?puedo (?:saber|responder|contestar|determinar)|desconocid[oa]$|"
        r"no hay (?:suficiente )?informaci[oó]n|(?:el )?(?:contexto|pasaje|texto)s? no|(?:los )?pasajes no)"
    ),
}
"""Patterns of abstentions that models write instead of the fixed reply. They match normalised words."""


def generation_request(query: Query, passages: Sequence[Chunk], language: str, settings: Settings) -> ChatRequest:
    """Return the request that asks a model to answer a query.

    Only the prompt of a yes/no question (``answer_type`` "label") mentions yes and no. If every prompt did, small
    models would answer yes to one extractive question in ten.
    """
    texts = PROMPTS.texts(language)
    data = numbered_passages(passages)
    fence = fence_name(data, query.text)
    system = texts["system_label" if query.answer_type == "label" else "system_extractive"]
    messages = (
        Message("system", system.format(fence=fence, abstention=texts["abstention"]).strip()),
        Message("user", texts["user"].format(fence=fence, passages=data, question=as_data(query.text)).strip()),
    )
    options = ChatOptions(temperature=settings.llm_temperature, max_tokens=settings.llm_max_tokens)
    return ChatRequest(messages, options, Grounding(query.text, tuple(passages), language))


def tidy_answer(text: str) -> str:
    """Return a model's reply without its thinking, a leading "Answer:" and citation marks."""
    bare = _MARKS.sub("", without_thoughts(text)).strip()
    return from_data(_LABEL.sub("", bare)).strip()


def is_abstention(answer: str, language: str) -> bool:
    """Return whether a reply gives no answer: the fixed abstention, another wording of it, or an empty reply."""
    words = normalise(answer, language)
    fixed = normalise(str(PROMPTS.texts(language)["abstention"]), language)
    return not words or words == fixed or bool(_UNKNOWN.get(language, _UNKNOWN["en"]).match(words))
