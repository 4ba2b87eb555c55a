"""A knowledge base of which documents are removed, a thousand questions about them, and what may then show nowhere.

Every word of the removed documents that matters is made up, so that it can come from nowhere else.
"""

from __future__ import annotations

import random
import re
from typing import Any

from chatbot_mvp.app import App
from chatbot_mvp.documents.names import clean_path
from chatbot_mvp.knowledge_base.changes import Describe, Remove
from chatbot_mvp.text import fold
from tests.moving import document, moving_kb

PLANTED = """brontifalo crastemino druvelanza esquirpato flangorina gurbelisto hostrapeño jalmerodo kervalina
lumbrotaxo mirvestano norguliza ostrebaldo pirgamesto quervandil rastolimba sergumante tolbraquin urvesticho
valdromiro wexterpaño xilombrado yastrebolo zurgamelda""".split()
FOLDER, TAG, TITLE, AUTHOR = "retirados", "etiqueta-zurgamelda", "Título de yastrebolo", "Autora Xilombrado"
COMMON = "vacaciones dietas plaza sótano días euros recibo firma mando garaje oven warranty days holiday".split()
_ASKED = ("¿Qué hay sobre {}?", "¿Quién pide {}?", "{}", "¿Cuándo se entrega {} en recepción?", "What is {}?")
_SPANISH, _ENGLISH = PLANTED[:12], PLANTED[12:]


def _spanish() -> str:
    parts = [f"# Manual de {_SPANISH[0]}"]
    for one, other in zip(_SPANISH, reversed(_SPANISH), strict=True):
        parts += [
            f"## Vacaciones de {one}",
            f"El {one} es un aparato con {other}, y quien lo entrega en recepción tiene 23 días de vacaciones.",
            f"La dieta de {one} es de 48 euros con el recibo de {other} y la firma; véase Dietas.",
        ]
    return "\n\n".join(parts)


def _english() -> str:
    parts = [f"# Manual of {_ENGLISH[0]}"]
    for one, other in zip(_ENGLISH, reversed(_ENGLISH), strict=True):
        parts += [f"## The {one}", f"The {one} is a device that goes with the {other}. Its warranty lasts 23 days."]
    return "\n\n".join(parts)


def planted_kb(app: App) -> str:
    """A knowledge base of the documents of ``moving_kb``, one in English, and the two that will be removed."""
    kb_id = moving_kb(app)
    oven = "# Oven\n\nThe oven has a warranty of two years.\n\n## Holiday\n\nIt is switched off on each holiday.\n"
    new = [
        document("kitchen/oven.md", oven),
        document(f"{FOLDER}/manual-{PLANTED[0]}.md", _spanish()),
        document(f"{FOLDER}/manual-{PLANTED[12]}.md", _english()),
    ]
    about = {"title": TITLE, "author": AUTHOR, "tags": (TAG,)}
    app.kb_changes.change(kb_id, new=new)
    app.kb_changes.change(kb_id, [Describe(f"{clean_path(FOLDER)}/", about)])
    return kb_id


def remove(app: App, kb_id: str) -> None:
    app.kb_changes.change(kb_id, [Remove(f"{FOLDER}/")])


def questions(count: int, seed: int = 28) -> list[str]:
    """Questions with words of the removed documents, as they are and misspelt, their beginnings, and other words."""
    draw = random.Random(seed)

    def typed(word: str) -> str:
        at = draw.randrange(1, len(word) - 1)
        return draw.choice(
            [
                word,
                word[:at] + word[at + 1 :],
                word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :],
                word[: max(4, at)],
                word.replace("v", "b").replace("z", "s"),
                f"Vacaciones de {word}",
            ]
        )

    found = []
    for _ in range(count):
        words = [typed(draw.choice(PLANTED)) for _ in range(draw.randint(0, 2))] + draw.choices(COMMON, k=2)
        draw.shuffle(words)
        found.append(draw.choice(_ASKED).format(" ".join(words[: draw.randint(1, len(words))])))
    return found


def shown(value: Any, typed: str = "") -> list[str]:
    """Return the planted words that ``value`` says and that were not typed.

    Args:
        typed: what the person has written, which may be said back.
    """
    said, own = fold(value if isinstance(value, str) else repr(value)), set(re.findall(r"\w+", fold(typed)))
    return [word for word in map(fold, [*PLANTED, FOLDER]) if word not in own and word in said]
