"""A user's texts for ContextRelevance: the files ``template_relevance1`` and ``template_relevance2`` of a folder."""

from __future__ import annotations

import re
from pathlib import Path

from chatbot_mvp.prompting.fence import as_data
from chatbot_mvp.wings.ragas.errors import PromptsError
from chatbot_mvp.wings.ragas.judging.languages import spellings

TEMPLATES = {"first": "template_relevance1", "second": "template_relevance2"}
"""Prompt of ContextRelevance -> the package's name of its text, and the name of the file that replaces it."""
_GAPS = ("{query}", "{context}")
_GAP = re.compile(r"\{(query|context)\}")


def relevance_templates(folder: Path | None, language: str) -> dict[str, str]:
    """Read the texts that a folder has: ``<name>_<language>.txt`` or, for every language, ``<name>.txt``.

    Returns:
        "first" and "second" -> text with the gaps ``{query}`` and ``{context}``.

    Raises:
        PromptsError (prompts_unreadable): a file cannot be read, or lacks a gap.
    """
    found: dict[str, str] = {}
    if folder is None:
        return found
    for prompt, name in TEMPLATES.items():
        endings = (*(f"_{spelling}" for spelling in spellings(language)), "")
        paths = (folder / f"{name}{ending}.txt" for ending in endings)
        path = next((path for path in paths if path.is_file()), None)
        if path is None:
            continue
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise PromptsError("prompts_unreadable", path=str(path), reason=str(error)) from error
        if missing := [gap for gap in _GAPS if gap not in text]:
            raise PromptsError("prompts_unreadable", path=str(path), reason=f"it has no {missing[0]!r}")
        found[prompt] = text
    return found


def filled(template: str, query: str, context: str) -> str:
    """Fill the gaps of a text in one pass, so that braces in a question or document are not taken for gaps."""
    values = {"query": as_data(query), "context": as_data(context)}
    return _GAP.sub(lambda gap: values[gap.group(1)], template)


def rating_of(reply: str) -> int | None:
    """Return the rating that a reply holds, as the package reads it: the first of 2, 1 and 0 that occurs in it."""
    return next((rating for rating in (2, 1, 0) if str(rating) in reply), None)
