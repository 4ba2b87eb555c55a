"""Tell which sentence, row or item answers a question, and whether that is proven.

It is if nothing elsewhere is nearly as close to the question, nothing that the question says is foreign to it, and it
has the kind of thing asked for. Each constant has its ablation in docs/research/evidence.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

import numpy as np

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.kinds import ARTICLES, DAYS, MONTHS, NUMERALS, Asked, Fit, asked, last_clause, plain_of
from chatbot_mvp.llm.extractive.measurement import UNITS, unit_of
from chatbot_mvp.llm.extractive.opposites import says_otherwise
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.scoring import compare
from chatbot_mvp.llm.extractive.tables import ranges_in
from chatbot_mvp.llm.extractive.units import ITEM, Unit
from chatbot_mvp.llm.extractive.values import (
    FIGURE,
    LIGHT_WORDS,
    MEASURE,
    PAY,
    UNIT_OF_TIME,
    VALUES,
    gives,
    value_asked,
)
from chatbot_mvp.text import Word, cells_of, fold

MARGIN, MARGIN_OF_WORDS = 0.15, 0.3
"""By so much a unit is closer to the question than the others: by late interaction and the cosine of their vectors
together, on the mean of the next one and the next one of other passages, or, without vectors, by the share of the
question's words."""
NEAR = 0.5
"""Least nearness (0-1) of each word of the question to a word of the unit, …"""
IN_PLACE = 0.6
"""… of one in whose place another one stands: behind the pool of the unit stands "outdoor", and not "covered". …"""
_LONG, _FEW, _ALMOST = 5, 1 / 3, 0.7
"""Of so many words of a question or more, this share may be less near, by this factor at most, if the unit is so much
closer than others as makes up for it: people say "how long does it carry on working" of what "is valid". Not the thing
that is asked for, nor a word in whose place another one stands."""
FAINT = 0.35
"""… and of one that its passage says elsewhere: what is said of the court is no answer about the sauna beside it."""
OTHER_KIND = 0.05
"""So much less close counts a unit that lacks the kind of value or thing that is asked for: it cannot answer, but what
is nearest by far, and lacks it, says that nothing else does."""
LACKS = 0.1
"""So much less close counts a unit that lacks a number, day or month of the question, if another one has it: of rows
and sentences for different times or amounts, the one that holds this one answers."""
MAX_CHARS = 300
"""What is marked is short, or it marks nothing. Rows of tables, and lists with what introduces them, may be longer."""
_COMPARED = 24
"""Units whose tokens are compared with those of the question: the closest by the vectors of the index."""
_OFFERED = 0.5
"""Least ``Fit`` of a unit that offers the kind of thing asked for, …"""
KINDS = ("number", "who", "where", "when", "why")
"""… if it is one of these."""
_LITERAL = re.compile(
    rf"{MONTHS}|{DAYS}|{NUMERALS}|\w*\d\w*|veranos?|inviernos?|primaveras?|otonos?|noches?|mananas?|tardes?|"
    r"summers?|winters?|springs?|autumns?|nights?|mornings?|evenings?"
)
"""What has to stand in the quote itself, or in what it stands under, as it is, like names: to the model of the
vectors Saturday is near Sunday."""
_NUMBER_OR_DAY = re.compile(rf"{MONTHS}|{DAYS}|\w*\d\w*")
COUNT = re.compile(r"\b(?:cuant[oa]s|how many)\b")
_MEASURED = re.compile(rf"{VALUES['money'].given.pattern}|\b{FIGURE} ?(?:{MEASURE}|{UNIT_OF_TIME})\b|{FIGURE} ?%")
"""Amounts that count nothing: an area is no number of plots."""
_AMOUNTS = ("money", "measure", "percentage")
"""Values that are those of the thing in whose clause they stand. A time is said of a whole sentence: "In May, …"."""
_CLAUSE_ENDS = re.compile(r"[,;:()]| (?:y|e|pero|and|but) ")
_ORDER = re.compile(
    r"\b(?:antes|despues|mas (?:temprano|tarde|pronto)|primer[oa]?|ultim[oa]|siguiente|anterior|first|last|next|"
    r"previous|earli(?:er|est)|lat(?:er|est)|before|after)\b"
)
_SIGNS = re.compile(r"[^\w ]+")
_UNIT_WORD = re.compile(r"[^\W\d_]+|[€$£%°º]")
_NOT = re.compile(r"no|nunca|tampoco|ningun[oa]?|nadie|sin|not|never|none|nobody|without|\w+n['’]t")
_CONTRACTED = re.compile(r"\w+['’](?:t|ve|re|ll|d|m)")
_PRONOUN = re.compile(r"i(?:['’]\w+)?")
"""What English writes like a name, if it stands behind none: "Elizabeth I"."""
_OTHER_IN_ENGLISH = ("once",)
"""What is a number in Spanish alone."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The unit that is closest to a question."""

    unit: Unit
    value: float
    """How well it is proven to be the answer: the least of what is measured, each over its threshold; from 1 on it is,
    1 too if its margin makes up for a word, and 0 is what says otherwise, or is of another kind than is asked for."""


def prove(grounding: Grounding, units: Sequence[Unit], reader: Reader) -> Proof:
    """Return which of some units, at least one, is closest to the question of ``grounding``, and its proof.

    A question before, with which a follow-up is searched, says what kind of thing is asked for where the follow-up does
    not, but its words need not be met.
    """
    clause = grounding.question.rpartition("? ")[2] or grounding.question
    plain = plain_of(last_clause(clause))
    value, rest = value_asked(plain)
    wanted = asked(clause, reader)
    if not value and wanted.kind == "yes_no" and clause != grounding.question:
        value, _ = value_asked(plain_of(last_clause(grounding.question[: -len(clause)])))
    near_words: Sequence[Mapping[str, float]] = [{}] * len(units)
    if grounding.near is None:
        scores = compare(replace(grounding, question=clause), units, wanted, reader)
        late, margin = scores.cover @ scores.weights, MARGIN_OF_WORDS
    else:
        close = np.array(grounding.closeness(list(map(text_of, units))) if grounding.closeness else [0.0] * len(units))
        rows = np.sort(np.argsort(-close, kind="stable")[: _COMPARED if grounding.closeness else None])
        units = [units[row] for row in rows]
        found = grounding.near(list(map(text_of, units)))
        late, margin = np.array([of_text for of_text, _ in found]) + close[rows], MARGIN
        near_words = [of_words for _, of_words in found]
    offers = offer_of(clause, value, wanted, reader)
    gives_it = np.array([offers(f"{unit.lead}\n{unit.text}" if unit.is_row else unit.text) for unit in units])
    late = late - OTHER_KIND * ~gives_it
    # A word that is said a thousand times is looked up once.
    content = list(
        {(word.text, literal): (word, literal) for word, literal in content_of(clause, plain, rest, reader)}.values()
    )
    for word in (word for word, literal in content if literal and _NUMBER_OR_DAY.fullmatch(fold(word.text))):
        says_it = np.array([_says(context_of(grounding, unit), word, clause, reader) for unit in units])
        late = late - LACKS * (says_it.any() & ~says_it)
    best = int(late.argmax())
    unit = units[best]
    rivals = [row for row, other in enumerate(units) if other.text != unit.text and not other.overlaps(unit)]
    # Beside it stands what belongs to it, so what is closest elsewhere counts as much as what is closest of all. Words
    # alone do not tell well enough for that.
    elsewhere = [row for row in rivals if grounding.near and units[row].passage != unit.passage] or rivals
    apart = late[best] - (max(late[rivals], default=0.0) + max(late[elsewhere], default=0.0)) / 2
    passage = grounding.passages[unit.passage]
    quote = "\n".join(passage.text[start:end] for start, end in unit.spans)
    short = len(quote) <= MAX_CHARS or unit.is_row or len(unit.spans) > 1
    alike = wanted.kind == "yes_no" or _denies_alike(clause, quote, reader)
    if (
        not (gives_it[best] and short and alike)
        or _disputed(clause, quote, (units[row].text for row in rivals), reader)
        or says_otherwise(clause, quote, reader.language, wanted.kind == "who")
        or _asks_in_order(clause, unit)
    ):
        return Proof(unit, 0.0)
    context = f"{passage.section}\n{unit.topic}\n{unit.lead}\n{quote}"
    # A sentence goes on about what its passage has said; rows and items are told apart by what stands in each. What a
    # follow-up says is what is new.
    around = "" if unit.is_row or ITEM.match(unit.text) or clause != grounding.question else passage.text
    everywhere = "\n".join(other.text for other in grounding.passages)
    said = []
    # "Level: Basic" of "the advanced level": what stands in a cell stands behind the cell's head.
    replaced = _replaced(clause, quote.replace(":", "").lower() if cells_of(unit.text) else quote, reader)
    if COUNT.search(fold(clause)) and not value and wanted.noun not in reader.terms(context):
        replaced |= {wanted.noun}  # how many showers there are is not how many beds
    if _of_another(value, clause, content, unit, reader):
        return Proof(unit, 0.0)
    for word, literal in content:
        # A role that the passages name is not what somebody does who is near it.
        role = wanted.kind == "who" and word.stem == wanted.noun and has(everywhere, word, reader)
        near = 0.0 if literal or role else near_words[best].get(fold(word.text), 0.0)
        if word.stem in replaced and not literal and not has(quote, word, reader):
            said.append(near * NEAR / IN_PLACE)
            continue
        # What is asked for is named by its answer: the room that is named beside it is that of something else.
        beside = near >= FAINT and word.stem != wanted.noun and has(around, word, reader)
        said.append(1.0 if beside or _says(context, word, clause, reader) else near)
    apart, least = apart / margin, min(said, default=0.0) / NEAR
    other = [word.stem for (word, _), near in zip(content, said, strict=True) if near < NEAR]
    in_other_words = len(said) >= _LONG and len(other) <= _FEW * len(said) and least >= _ALMOST
    if in_other_words and not {wanted.noun, *replaced} & {*other} and apart >= 1 > least:
        return Proof(unit, min(apart * least, 1.0))
    return Proof(unit, min(apart, least))


def context_of(grounding: Grounding, unit: Unit) -> str:
    """Return what a unit stands under, and the unit."""
    return f"{grounding.passages[unit.passage].section}\n{unit.topic}\n{unit.lead}\n{unit.text}"


def offer_of(clause: str, value: str, wanted: Asked, reader: Reader) -> Callable[[str], bool]:
    """Return what tells whether a text has the kind of value or of thing that a question asks for.

    Args:
        value, wanted: what the question asks for, as ``value_asked`` and ``asked`` say.
    """
    if value:
        return lambda text: gives(value, fold(text), fold(clause))
    if wanted.kind not in KINDS:
        return lambda text: True
    fit, counts = Fit(wanted, clause, reader), bool(COUNT.search(fold(clause)))
    return lambda text: fit(_MEASURED.sub(" ", fold(text)) if counts else text) >= _OFFERED


def text_of(unit: Unit) -> str:
    return f"{unit.lead} {unit.text}".strip()


def content_of(clause: str, plain: str, rest: str, reader: Reader) -> Iterator[tuple[Word, bool]]:
    """Yield the words of a question that its answer has to say, each with whether only the word itself will do.

    Args:
        plain, rest: its folded words; those of them that are no words for the kind of value asked for.
    """
    asking = {*plain.split()} - {*rest.split()}
    words = reader.words(clause)
    for at, word in enumerate(words):
        said = fold(word.text)
        other = said in ARTICLES or (reader.language == "en" and said in _OTHER_IN_ENGLISH)
        light = word.is_stop or said in LIGHT_WORDS or bool(_CONTRACTED.fullmatch(said))
        behind_name = at > 1 and words[at - 1].text[:1].isupper()
        pronoun = reader.language == "en" and _PRONOUN.fullmatch(said) and not behind_name
        named = at > 0 and word.text[:1].isupper() and not pronoun
        literal = named or (bool(_LITERAL.fullmatch(said)) and not other)
        if said not in asking and (literal or not light):
            yield word, literal


def has(text: str, word: Word, reader: Reader) -> bool:
    """Return whether a text has a word, or another one for the same unit."""
    said = fold(word.text)
    same = said in UNITS and any(UNITS.get(one) == UNITS[said] for one in _UNIT_WORD.findall(fold(text)))
    return same or word.stem in reader.terms(text) or bool(re.search(rf"\b{re.escape(said)}\b", fold(text)))


def _replaced(clause: str, quote: str, reader: Reader) -> frozenset[str]:
    """Return the terms of a question that a quote does not have, and has another one where they would stand.

    That is directly behind the word that they stand behind in the question: "the covered pool" and "the outdoor pool".
    """
    terms, there = reader.terms(quote), {one for one, _ in _beside(quote, reader)}
    return frozenset(other for one, other in _beside(clause, reader) if one in there and other not in terms)


def _beside(text: str, reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield the terms of each two words with only a space between; not of stop words, nor of a Spanish verb or a name
    behind: "the boat Gull" may be fast.
    """
    for part in _SIGNS.split(text):
        for one, other in pairwise(reader.words(part)):
            verb = reader.language == "es" and other.text.endswith("n")
            if not (one.is_stop or other.is_stop or verb or other.text[:1].isupper()):
                yield one.stem, other.stem


def _says(context: str, word: Word, clause: str, reader: Reader) -> bool:
    """Return whether a text has a word of a question; a number in its unit, or in a range of that: "20 days" is not in
    "20 euros", nor outside of "16 to 30 days".
    """
    found = re.search(rf"\b{'[.,]?'.join(word.text)} ?([^\W\d_]+)", fold(clause)) if word.text.isdigit() else None
    if found is None:
        return has(context, word, reader)
    unit, text = _unit(found[1], reader), fold(context)
    if any(
        one.holds(Decimal(word.text)) and _unit(one.unit, reader) == unit
        for one in ranges_in(text, reader.language == "es")
    ):
        return True
    of = [_unit(one, reader) for one in re.findall(rf"\b{re.escape(word.text)} ?([^\W\d_]+|[€$£%])", text)]
    others = isinstance(unit, tuple) and of and all(isinstance(one, tuple) and one[0] != unit[0] for one in of)
    return not others and has(context, word, reader)


def _unit(word: str, reader: Reader) -> tuple[str, float] | frozenset[str]:
    return unit if isinstance(unit := unit_of(word), tuple) else reader.terms(word)


def _disputed(clause: str, quote: str, others: Iterable[str], reader: Reader) -> bool:
    """Return whether another text says all that the question does, but another price than it asks about."""
    given = VALUES["money"].given
    words = [
        word for word in reader.words(given.sub(" ", fold(clause))) if not (word.is_stop or word.text in LIGHT_WORDS)
    ]
    said = {*given.findall(fold(quote))}
    return bool(words and given.search(fold(clause))) and any(
        {*given.findall(fold(other))} - said and all(has(other, word, reader) for word in words) for other in others
    )


def _of_another(value: str, clause: str, content: Sequence[tuple[Word, bool]], unit: Unit, reader: Reader) -> bool:
    """Return whether each amount of a sentence is that of something else than the question asks about.

    What it asks about is its first word that is no name, number or day. It then stands behind the clause of the amount:
    "A flat of 78 m², with a cellar" gives no size of the flat's cellar.
    """
    text, whole = fold(unit.text), fold(clause)
    thing = next((word for word, literal in content if not literal), None)
    if value not in _AMOUNTS or unit.is_row or cells_of(unit.text) or not (thing and has(text, thing, reader)):
        return False
    amounts = [one for one in VALUES[value].given.finditer(text) if one.group().strip() not in whole]
    for amount in amounts:
        end = _CLAUSE_ENDS.search(text, amount.end())
        said = reader.words(text[: amount.start()])
        others = any(not (word.is_stop or word.text in LIGHT_WORDS or re.fullmatch(PAY, word.text)) for word in said)
        if not others or has(text[: end.start() if end else None], thing, reader):
            return False
    return bool(amounts)


def _asks_in_order(clause: str, unit: Unit) -> bool:
    """Return whether a question asks for what comes first, or before something, of rows or items.

    One of them alone does not tell, unless it has the word itself.
    """
    said = fold(text_of(unit))
    listed = unit.is_row or bool(cells_of(unit.text) or ITEM.match(unit.text))
    return listed and any(word not in said for word in _ORDER.findall(fold(clause)))


def _denies_alike(question: str, quote: str, reader: Reader) -> bool:
    """Return whether a quote denies, of the words of a question, just those that the question denies."""
    denied = denied_in(question, reader)
    return denied <= (of_quote := denied_in(quote, reader)) and not (of_quote - denied) & reader.terms(question)


def denied_in(text: str, reader: Reader) -> frozenset[str]:
    """Return the terms that follow a negation closely."""
    words = reader.words(text)
    behind = (words[at + 1 : at + 5] for at, word in enumerate(words) if _NOT.fullmatch(fold(word.text)))
    return frozenset(next((word.stem for word in few if not word.is_stop), "") for few in behind) - {""}
