"""Closed classes of words that decide what a sentence says, in Spanish and English. All are folded: no accents."""

from __future__ import annotations

from chatbot_mvp.llm.extractive import kinds

NEGATORS = frozenset(
    """no nunca jamas tampoco ningun ninguno ninguna nadie nada ni not never nor neither none nobody nothing nowhere
    cannot sin without salvo excepto except unless""".split()
)
"""Words that deny their clause. Several of them deny it once ("no … nunca")."""
NOT_BEFORE = frozenset("obstante solo solamente only just mas more less menos fewer doubt duda matter".split())
"""Behind a negator, these words make it something else ("no obstante", "not only", "no more than")."""
DENYING = tuple(
    """prohib forbid forbad carec impid imped incapa imposib unabl impossib lack prevent refus rehus rechaz untru fracas
    exclu exempt exent declin reject unsupport""".split()
)
"""Beginnings of words that deny what follows. Two of them, or one and a negator, cancel out."""
DENYING_WORDS = frozenset("niega niegan nego negaron negarse falso falsa false fail fails failed falla".split())
BREAKS = frozenset(
    """pero aunque sino porque mientras cuando si donde que quien pues but although because while when if where which
    who that whereas unless salvo excepto except""".split()
)
"""Words that begin a clause."""
MONTHS = {word: row % 12 + 1 for row, word in enumerate(kinds.MONTHS.replace("|setiembre", "").split("|"))}
MONTHS["setiembre"] = 9
DAYS = {word: row % 7 + 1 for row, word in enumerate(kinds.DAYS.replace("s?", "").split("|"))}
DAYS |= {f"{word}s": row for word, row in DAYS.items() if word.endswith(("o", "day"))}
