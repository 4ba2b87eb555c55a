"""Whether a question refers to something that nothing before it names: "How does it affect the cost?", "the plan".

Only words are looked at, in Spanish and English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatbot_mvp.text import Analyzer, fold, sentences
from chatbot_mvp.types import PastTurn

_AUXILIARY = r"(?:do|does|did|is|are|was|were|can|could|will|would|has|have|had|should|may|might)(?:n't)?"
_SUBJECT = re.compile(rf"\b{_AUXILIARY} (?:it|they)\b(?= ?\w)|\b(?:it|they) {_AUXILIARY}\b", re.I)
_EMPTY = re.compile(
    rf"\b{_AUXILIARY} it (?:\w+ ){{0,2}}?(?:possible|safe|true|necessary|better|worth|easy|hard|important|sense|mean|"
    r"ok|okay|legal|required|called)\b|\bdo it\b",
    re.I,
)
"""Here "it" stands for nothing: "Is it possible to pay later?"."""
_OWNER = re.compile(r"\b(?:its|their)\b", re.I)
_SHOWN = re.compile(
    r"\b(?:this|est[ea])(?: particular| specific)? "
    r"(?!(?:kind|type|sort|way|mean|means|is|was|are|for|to|of|the|a|an|i|you|we|they|there|my|do|does|será|sera|es|"
    r"año|mes|semana|tarde|noche|mañana|day|week|month|year|time|morning|evening|\w+[ai]e?ndo)\b)(?P<noun>\w{3,})",
    re.I,
)
_BARE = re.compile(r"\b(?P<article>the|el|la|los|las) (?P<noun>\w{3,})(?=\s*(?:[?.!,]|$))", re.I)
"""A noun with nothing that says which one."""
_DEFINES = re.compile(
    r"^(?:(?:so|and|ok|okay|then|y),? )?(?:what (?:is|are|means?) (?!the )|what's |who |define |tell me about |"
    r"what about |(?:can|could) you (?:explain|tell me)(?: what| about)? |que (?:es|son|significa) |quien(?:es)? |"
    r"y ?que hay de )"
)
_SEVERAL = re.compile(r"\b(?:or|and|versus|vs|between|different|o|u|y|e|entre|distintos|distintas|diferentes)\b")
_ASKING = frozenset(
    """what when where which does have much many could would should with from about que cual cuando donde como
    cuanto""".split()
)
_NOT_MODIFIERS = frozenset(
    """the a an this that these those your my our its their his her any each every some all no of in for to and or with
    by is are as on from at be can will has have other another same new one which what more most only also such own both
    following specific different various multiple existing current first second third last next several using holding
    use uses about into than then when while you right""".split()
)
_NAMES_SHORT = 4
"""Words of a question that is only the name of something: "Jumbo frames"."""
_DEFINED_WORDS = 9
_VARIANTS = 2
"""Kinds of a thing that must have been spoken of before "the thing" could be any of them."""
_TURNS = 2
WORD = r"[\w-]+"
_RUNS = re.compile(r"[\w-]+(?: [\w-]+)+")


@dataclass(frozen=True, slots=True)
class Reference:
    """Words of a question that refer to something, and what they may refer to."""

    words: str
    """As they stand in the question."""
    variants: tuple[str, ...] = ()
    """What the conversation has named that they may mean, as it stands there; empty if only documents can tell."""


def open_reference(question: str, history: Sequence[PastTurn]) -> Reference | None:
    """Return what a question refers to although nothing before it says which one; None if it is clear.

    After a question that names one thing ("What is an API?"), everything refers to that.
    """
    if not question.rstrip().endswith("?") or (history and _names_one(history[-1].question)):
        return None
    asked = question.strip()
    start = max((start for start, _ in sentences(asked)), default=0)
    if start and re.search(r"[?.!]\s", asked[:start]):
        return None  # it says more before it asks
    found = _SHOWN.search(asked)
    if found and _own_words(asked[: found.start()]) <= 3:
        return Reference(found[0], variants_of(found["noun"], history))
    for pattern in (_SUBJECT, _OWNER):
        found = pattern.search(asked)
        if found and not _EMPTY.search(asked) and _own_words(asked[: found.start()]) <= 1:
            return Reference(found[0])
    for found in _BARE.finditer(asked):
        variants = variants_of(found["noun"], history)
        if len(variants) >= _VARIANTS:
            return Reference(found[0], variants)
    return None


def named_things(history: Sequence[PastTurn], texts: Sequence[str], analyzer: Analyzer) -> list[str]:
    """Return what the last turn names in words of the documents, the most often named first.

    A name is two or three words with a meaning of their own that stand together in the conversation and in one of
    ``texts``, or one word with a capital letter inside a sentence. Of names that share a word, only the first is
    returned.
    """
    said = "\n".join(f"{turn.question}\n{turn.answer}" for turn in history[-1:])
    documents = f" {' '.join(re.findall(WORD, fold(' '.join(texts))))} "
    counts: dict[str, list[str]] = {}
    for run in _RUNS.findall(said):
        words = run.split()
        for size in (3, 2):
            for at in range(len(words) - size + 1):
                part = words[at : at + size]
                plain = fold(" ".join(part))
                if all(len(word) > 2 and analyzer.terms(word) for word in part) and f" {plain} " in documents:
                    counts.setdefault(plain, []).append(" ".join(part))
    for name in re.findall(r"(?<=[a-z,] )[\w-]*[A-Z][\w-]+", said):
        if analyzer.terms(name) and f" {fold(name)} " in documents:
            counts.setdefault(fold(name), []).append(name)
    found: list[str] = []
    taken = set[str]()
    for plain in sorted(counts, key=lambda one: (-len(counts[one]) * len(one.split()), said.find(counts[one][0]))):
        terms = set(analyzer.terms(plain))
        if not terms & taken:
            taken |= terms
            found.append(counts[plain][0])
    return found


def variants_of(noun: str, history: Sequence[PastTurn]) -> tuple[str, ...]:
    """Return the different kinds of a thing that the last turns name, such as "Trial plan" and "Standard plan"."""
    found: dict[str, str] = {}
    for turn in history[-_TURNS:]:
        for text in (turn.question, turn.answer):
            for modifier, phrase in _phrases(noun, text):
                found.setdefault(modifier, phrase)
    return tuple(found.values())


def _phrases(noun: str, text: str) -> Iterator[tuple[str, str]]:
    stem = re.escape(noun[:-1] if noun.lower().endswith("s") and not noun.lower().endswith("ss") else noun)
    for found in re.finditer(rf"(?P<modifier>[\w-]+) {stem}(?:s|es)?\b", text, re.I):
        modifier = fold(found["modifier"])
        if len(modifier) > 2 and modifier not in _NOT_MODIFIERS:
            yield modifier, found[0]


def _names_one(question: str) -> bool:
    plain = fold(question).strip(" .?!¿¡")
    if _SEVERAL.search(plain):
        return False
    words = len(plain.split())
    asks = re.match(
        r"(?:is|are|do|does|did|can|how|why|when|where|which|what|any|and|but|y|como|cuando|donde|cual|que|se|hay) ",
        plain,
    )
    return (bool(_DEFINES.match(plain)) and words <= _DEFINED_WORDS) or (words <= _NAMES_SHORT and not asks)


def _own_words(text: str) -> int:
    """Return how many words with a meaning of their own stand before a reference: it may be to one of them."""
    return sum(len(word) > 3 and word not in _ASKING for word in fold(text).split())
