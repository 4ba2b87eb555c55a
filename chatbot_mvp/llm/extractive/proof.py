"""Tell how plainly each unit answers a question, by what it asks for and by all else that it says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.kinds import DAYS, MONTHS, NUMBER, NUMERALS, Asked
from chatbot_mvp.llm.extractive.limits import contradicts, other_time
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.scoring import Floats, Scores
from chatbot_mvp.llm.extractive.units import Unit
from chatbot_mvp.llm.extractive.values import (
    CONTACTS,
    LIGHT_WORDS,
    class_noun,
    gives,
    is_unit,
    last_clause,
    plain_of,
    value_asked,
)
from chatbot_mvp.text import fold

VALUE, SHARE, CLOSE, CODE = 0.2, 0.4, 1.3, 1.0
"""What the proof of a unit gains, in units of the evidence: by a value of the kind asked for, by all words of the
question, by being the closest in meaning, by a code of the question. Fitted (see decision 0208)."""
NO_NAME, NO_CODE, NO_NOUN = 0.4, 0.8, 0.35
"""What it loses by a name or a number of the question that no passage has, and by the noun behind "which"."""
ONLY = 0.35
"""What a telephone number or address gains if the passages have no other one."""
UNMEASURED = 0.9
"""Closeness of every unit if there are no vectors: then the rest decides."""
DOUBT = 0.5
"""Below this evidence only a value of the kind asked for, or a code, is plain enough, …"""
CLOSEST_OF_ALL, MOST = 0.98, 0.5
"""… the value in the unit that is closest in meaning, or that has this share of the question."""
SAME_WORDS = 0.65
"""From this share of the question's words on, a unit without a value is plain enough, too."""
UNKNOWN = 0.6
"""Factor for the weight of a word of the question that no passage has."""
MET = 0.8
"""From this match on (see ``Scores.cover``) a unit has a term of the question as well as it can be."""
LEAST_KNOWN = 0.3
"""A unit with a lower share of the question's words that passages have is no answer, …"""
CLOSEST = 0.95
"""… unless it is this close in meaning to the question, …"""
ELSEWHERE = 0.5
"""… and no other unit has at least this share of the question's words: the text treats the subject there."""
BEFORE = 0.4
"""Factor for the weight of a term of the question before, with which a follow-up is searched."""
LIGHT = 0.3
"""Factor for the weight of words that say little."""
_RANGE = re.compile(
    r"\b(?:mas|menos|entre|hasta|desde|partir|menor(?:es)?|mayor(?:es)?|minim[oa]|maxim[oa]|under|over|least|"
    r"most|up to|between|"
    r"more|less|antes|despues|before|after|within|from)\b"
)
_CODES = re.compile(r"\b(?=\w*\d)\w+(?:[.,-]\w+)*\b")
_SMALL = re.compile(r"\d{1,2}")
_MANY = re.compile(r"\b(?:cuant[oa]s|how many)\b")
_ARTICLES = ("un", "una", "uno", "one")
_ITEM = re.compile(r"\s*[-*+•]")
_CONDITION = re.compile(r"\s*(?:[-*+•]\s+)?((?:si|if)\b[^,;:.]*)[,;]", re.I)
_ASKED_IF = re.compile(r"\b(?:si|if)\b([^,;?]*)", re.I)
"""The condition of a question: "¿cuánto pago si estudio?"."""
_CONDITIONAL = re.compile(r"\b(?:si|if|cuando|when)\b")
_FROM = re.compile(r"\b(?:de|desde) donde|\bwhere\b.*\bfrom\b")
_THROUGH = re.compile(r"\bpor donde\b")
_WAY = re.compile(r"\bpor(?= (?:el|la|los|las) )")
_ORIGIN = re.compile(r"\b(?:del?|desde|from)(?= )")
_ROLE = re.compile(r"^(?:y )?(?:quien(?:es)? (?:es|son|era|fue)|who (?:is|are|was))\b")
_NAME = re.compile(r"\bcomo se llaman?\b")
_PERSON = re.compile(
    r"\b\w{3,}(?:dor|tor|sor|tario|nario|cario|atario|ero|ista|ente|ante|logo|grafo)(?:a|as|es|s|os)?\b|"
    r"\b\w+(?:doras?|toras?|eras?)\b|"
    r"\b(?:due[nñ][oa]s?|socios?|vecin[oa]s|padres|familias?|empresa|ayuntamiento|asociacion|banda|equipo|personal|guia|medic[oa]|"
    r"owner|tenant|secretary|treasurer|committee|council|staff|team|company|volunteers?|people)\b"
)
_PLACED = re.compile(
    r"\b(?:(?:en|desde|hasta|hacia|in|at|from|near)(?: (?:el|la|los|las|the))?|"
    r"(?:[Cc]alle|[Pp]laza|[Aa]venida|[Pp]aseo|[Cc]amino|estaci[oó]n|aeropuerto|ciudad|pueblo|villa|provincia|station|"
    r"city|town)(?: (?:de|del|of))?) [A-ZÁÉÍÓÚÑ][\w-]+(?: (?:(?:de|del|la|y) )?[A-ZÁÉÍÓÚÑ][\w-]+)*"
)
"""A name behind a preposition of place, which is nobody's: "la estación de Burgos"."""
_SOMEWHERE = re.compile(
    r"\b(?:en|a|al|del?|desde|hasta|bajo|sobre|tras|detras|delante|junto|frente|dentro|fuera|cerca|lado|in|at|"
    r"near|under|behind|next to|"
    r"beside|on|from|into|above|below)(?: (?:a|de|al|del|of|to))? (?:(?:el|la|los|las|un|una|su|the|a|an|your|its) )?"
    rf"(?!mismo|misma|same|tod[oa]s? |all |{MONTHS}|{DAYS}|"
    r"(?:el|la|lo|los|las|un|una|su|the|an|your|its) |\d|caso|total|cada|menos|"
    rf"mas|partir|{NUMERALS}\b|sol[oa] |"
    r"noches?\b|dias?\b|semanas?\b|mananas?\b|tardes?\b|horas?\b|mes(?:es)?\b|anos?\b|veces\b|momento|(?:the )?"
    r"(?:night|day|week|morning|evening|hour|month|year|time)s?\b)(\w+)"
)


@dataclass(frozen=True)
class Proof:
    """How plainly each of U units answers."""

    value: str
    """Kind of value asked for (see ``values``); "" for none of them."""
    has_kind: npt.NDArray[np.bool_]
    """Whether each unit offers what is asked for, shape (U,); all True if any text might."""
    share: Floats
    """Share of what else the question says that each unit has, 0-1, shape (U,)."""
    misses: npt.NDArray[np.bool_]
    """Whether each unit lacks what the question says and other units have, shape (U,)."""
    doubt: Floats
    """What each unit's proof loses by what the question names and no passage has, shape (U,)."""
    has_code: npt.NDArray[np.bool_]
    """Whether each unit has a code or name with a digit from the question, shape (U,)."""

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        """Whether each unit may be the answer at all, shape (U,)."""
        return self.has_kind & ~self.misses

    def value_of(self, evidence: float, scores: Scores) -> Floats:
        """Return how well each unit is proven to be the answer, shape (U,).

        Args:
            evidence: that the passages answer the question, 0-1.
        """
        measured = bool(scores.closeness.any())
        close = scores.closeness if measured else UNMEASURED
        plain = VALUE * bool(self.value) + SHARE * self.share + CLOSE * close + CODE * self.has_code - self.doubt
        allowed = np.asarray(self.possible)
        if evidence < DOUBT:
            near = (close >= CLOSEST_OF_ALL) | (self.share >= MOST)
            said = self.has_code | (bool(self.value) & near) | (self.share >= SAME_WORDS)
            allowed = allowed & measured & said
        return np.asarray(evidence + plain) * allowed


def prove(grounding: Grounding, scores: Scores, wanted: Asked, reader: Reader) -> Proof:
    """Return how plainly each unit answers the question of ``grounding``."""
    question = grounding.question
    clause = last_clause(question)
    plain = plain_of(clause)
    value, rest = value_asked(plain)
    if not value and wanted.kind == "yes_no" and len(plain.split()) < 6 and clause != question:
        value, _ = value_asked(plain_of(last_clause(question[: question.rfind("¿")])))
    share, of_known = _shares(question, clause, rest, scores, reader)
    names_one = _ROLE.search(plain) and any(word.text[:1].isupper() for word in reader.words(clause)[1:])
    kind = "" if value or names_one else wanted.kind
    has_kind = np.array([_offers(value, kind, unit, wanted, fold(question), reader) for unit in scores.units], bool)
    misses, doubt, codes = _misses(scores, grounding, clause, reader)
    if value and not _CONDITIONAL.search(plain):
        misses |= np.array([_only_if(unit, reader, question) for unit in scores.units], bool)
    if value not in CONTACTS:  # nothing else in the line of an address has to be in the question
        misses |= _other_case(clause, question, scores, reader)
        elsewhere = bool(share.max(initial=0.0) >= ELSEWHERE)
        misses |= (of_known < LEAST_KNOWN) & ((scores.closeness < CLOSEST) | elsewhere)
    elif (has_kind & ~misses).sum() == 1:  # there is only one
        doubt -= ONLY * has_kind
    if (noun := class_noun(plain)) and not value:
        doubt += NO_NOUN * ~_has_noun(noun, question, clause, scores, reader)
    return Proof(value, has_kind, share, misses, doubt, codes)


def _shares(question: str, clause: str, rest: str, scores: Scores, reader: Reader) -> tuple[Floats, Floats]:
    """Return each unit's share of the question's terms, and of those that any unit has, both 0-1, shape (U,)."""
    left = set(rest.split())
    own = {word.stem for word in reader.words(clause) if not word.is_stop and fold(word.text) in left}
    light = {word.stem for word in reader.words(question) if fold(word.text) in LIGHT_WORDS}
    whole = {word.stem for word in reader.words(clause) if not word.is_stop}
    seen = Counter(term for unit in scores.units for term in reader.terms(unit.text))
    terms, total = reader.ordered_terms(question), len(scores.units)
    known = scores.cover.any(axis=0)
    rarity = np.array([math.log(1 + total / (1 + seen[term])) for term in terms])
    weights = np.where(known, rarity, UNKNOWN * math.log(1 + total))
    weights *= [1.0 if term in own else 0.0 if term in whole else BEFORE for term in terms]
    weights *= [LIGHT if term in light else 1.0 for term in terms]
    met = np.minimum(scores.cover / MET, 1.0)
    every = np.ones(total)
    of_all = met @ weights / weights.sum() if weights.sum() else every
    of_known = met @ (weights * known) / (weights * known).sum() if (weights * known).sum() else every
    return of_all, of_known


def _has_noun(noun: str, question: str, clause: str, scores: Scores, reader: Reader) -> npt.NDArray[np.bool_]:
    """Return whether each unit, or what stands above it, has the noun behind "which"; True if no word is that noun."""
    stems = [word.stem for word in reader.words(clause) if fold(word.text) == noun and not word.is_stop]
    columns = _columns(stems, question, reader)
    return np.array([not columns or row[columns].any() for row in scores.cover], bool)


def _columns(terms: Collection[str], question: str, reader: Reader) -> list[int]:
    """Return the columns of ``Scores.cover`` that are of some of the question's terms."""
    return [at for at, term in enumerate(reader.ordered_terms(question)) if term in terms]


def _offers(value: str, kind: str, unit: Unit, wanted: Asked, question: str, reader: Reader) -> bool:
    """Return whether a unit has the kind of thing that is asked for; True if any text might."""
    text = f"{unit.lead}\n{unit.text}" if unit.is_row else unit.text
    plain = fold(text)
    if value:
        return not unit.is_list and gives(value, plain, question)
    if kind == "number":
        return _counts(plain, wanted.noun if _MANY.search(question) else "", question, reader)
    if kind == "who":
        known = {word.stem for word in reader.words(question)}
        fresh = [word for word in reader.words(unit.text) if word.stem not in known and not word.text.isdecimal()]
        text = _PLACED.sub(" ", unit.text)
        named = [
            w
            for at, w in enumerate(fresh)
            if w.text[:1].isupper() and not w.is_stop and (at or unit.is_row) and w.text in text
        ]
        if _NAME.search(question):
            return bool(named)
        return (
            len(named) > 1
            or bool(named and not unit.is_row)
            or any(map(_PERSON.fullmatch, map(fold, (w.text for w in fresh))))
        )
    if kind == "where":
        places = plain if _FROM.search(question) else _ORIGIN.sub("", plain)
        places = _WAY.sub("en", places) if _THROUGH.search(question) else places
        known = {word.stem for word in reader.words(question)}
        found = (word for name in _SOMEWHERE.findall(places) if name not in question for word in reader.words(name))
        return any(word.stem not in known for word in found)
    return True


def _only_if(unit: Unit, reader: Reader, question: str) -> bool:
    """Return whether a unit holds only under a condition that the question does not share half of."""
    found = _CONDITION.match(unit.text)
    condition = reader.terms(found[1]) if found else frozenset()
    return 2 * len(condition & reader.terms(question)) < len(condition)


def _other_case(clause: str, question: str, scores: Scores, reader: Reader) -> npt.NDArray[np.bool_]:
    """Return whether each unit has nothing of the question's condition, of which another unit has something."""
    found = _ASKED_IF.search(clause)
    condition = reader.terms(found[1]) if found else frozenset()
    columns = _columns(condition, question, reader)
    has = scores.cover[:, columns].any(axis=1)
    return np.asarray(~has & has.any())


def _counts(plain: str, noun: str, question: str, reader: Reader) -> bool:
    """Return whether a text says how many there are of what a question counts."""
    for found in NUMBER.finditer(plain):
        if re.search(rf"(?<!\w){re.escape(found.group())}(?!\w)", question):
            continue
        if not noun and found.group() in _ARTICLES:
            continue
        following = reader.ordered_terms(re.split(r"[.;:,()|]", plain[found.end() : found.end() + 40])[0])[:2]
        same = [_same(noun, term) for term in following]
        if noun and (any(same[:1]) or (any(same) and not is_unit(plain[found.end() :]))):
            return True
        if not noun:
            return True
    return False


def _same(noun: str, term: str) -> bool:
    """Return whether two terms are the same noun, one of them perhaps shortened ("bici", "bicicleta")."""
    return noun == term or (min(len(noun), len(term)) >= 4 and (term.startswith(noun) or noun.startswith(term)))


def _misses(
    scores: Scores, grounding: Grounding, clause: str, reader: Reader
) -> tuple[npt.NDArray[np.bool_], Floats, npt.NDArray[np.bool_]]:
    """Return for each unit whether it misses a name or number, how doubtful that makes it, and if it has a code."""
    words = reader.words(clause)
    named = {word.stem for at, word in enumerate(words) if at and not word.is_stop and word.text[:1].isupper()}
    codes = set(_CODES.findall(fold(grounding.question)))
    texts = [passage.index_text for passage in grounding.passages]
    known = frozenset[str]().union(*map(reader.terms, texts))
    known_codes = {code for text in texts for code in _CODES.findall(fold(text))}
    lacks, doubt, has = [], [], []
    for unit in scores.units:
        own = f"{unit.topic} {unit.lead} {unit.text}"
        # Prose names its subject once; each row and item has its own.
        alone = unit.is_row or bool(_ITEM.match(unit.text))
        around = f"{grounding.passages[unit.passage].section} {own}" if alone else texts[unit.passage]
        plain = fold(around)
        ranges = bool(_RANGE.search(plain))
        absent = {code for code in codes - set(_CODES.findall(plain)) if not (ranges and _SMALL.fullmatch(code))}
        unnamed = named - reader.terms(around)
        own_plain, asked_plain = fold(unit.text), fold(clause)
        other = contradicts(own_plain, asked_plain) or other_time(own_plain, asked_plain)
        lacks.append(other or (alone and bool(unnamed & known or absent & known_codes)))
        doubt.append(NO_NAME * bool(unnamed) + NO_CODE * bool(absent))
        has.append(any(not _SMALL.fullmatch(code) for code in codes & set(_CODES.findall(fold(own)))))
    return np.array(lacks, bool), np.array(doubt), np.array(has, bool)
