"""Read questions as people write or say them: one per line, with bullets, or as running words of a colleague."""

from __future__ import annotations

import re

MOST = 50
"""Questions taken at a time."""
_SHORTEST = 2  # words
_LONGEST = 500  # characters, as in a question set
_MARK = re.compile(r"^\s*(?:[-*+•–—]+|\(?\d{1,3}[.):]|[a-z]\))\s+")
_SPEAKER = re.compile(
    r"^\s*(?:\[[^\]\n]{1,40}\]|\d{1,2}:\d\d(?::\d\d)?)?\s*(?:[A-ZÁÉÍÓÚÑ][\wáéíóúñ.]*(?: [A-ZÁÉÍÓÚÑ]\w*)?:\s+)?"
)
_END = re.compile(r"(?<=\?)\s+")


def spoken_questions(text: str) -> list[str]:
    """Return the questions of a text, in its order, without repetitions; at most ``MOST``.

    A line is a question, also without question marks. Of a line with several of them, or with other sentences before
    an opening question mark, each question is taken; who said it, and when, is left out.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        plain = _SPEAKER.sub("", _MARK.sub("", line))
        for part in _END.split(plain) if "?" in plain else [plain]:
            if "?" in plain and "?" not in part:
                continue  # what is said after the last question
            asked = " ".join(_asked(part).split())
            if len(asked.split()) >= _SHORTEST and len(asked) <= _LONGEST:
                found.setdefault(asked.casefold(), asked)
    return list(found.values())[:MOST]


def _asked(part: str) -> str:
    """Return the question without the sentences before it: "Hola. Me apunté ayer. ¿Cuándo pago?" asks the last one."""
    before, mark, question = part.rpartition("¿")
    if not mark:
        # In English, or without the opening mark, only whole sentences before it can be told apart.
        return re.split(r"(?<=[.!…])\s+", part)[-1] if "?" in part else part
    clause = re.split(r"(?<=[.!?…])\s+", before)[-1]  # "Si me lesiono, ¿puedo parar la cuota?" keeps its condition
    return f"{clause}{mark}{question}" if clause.rstrip().endswith(",") else f"{mark}{question}"
