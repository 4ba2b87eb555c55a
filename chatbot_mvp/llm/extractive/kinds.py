"""Read what kind of answer a question asks for, and tell how well a text offers one.

The word lists are closed classes of the two languages: question words, months, numerals, negations and the like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.text import Word, cells_of, fold

AnswerKind = Literal["when", "number", "who", "where", "why", "how", "yes_no", "what", ""]

_TIME = "dia|fecha|mes|anos?|siglo|epoca|hora|decada|date|day|month|years?|time|century|decade"
_PLACE = (
    "ciudad|pais|lugar|localidad|pueblo|villa|municipio|provincia|region|estado|continente|calle|isla|aldea|barrio|"
    "city|country|place|town|village|state|county|province|region|continent|street|island|location|nation"
)
_AMOUNT = (
    "numero|altura|longitud|edad|porcentaje|cantidad|precio|superficie|distancia|number|age|height|length|population"
)
_BEFORE = (
    r"(?:(?:y|e|o|pero|and|but|or) )?"
    r"(?:(?:a|al|de|del|en|con|por|para|desde|hasta|sobre|in|on|at|for|from|by|of|to|with|during|about) )?"
)
_QUESTION: dict[str, tuple[tuple[AnswerKind, str], ...]] = {
    "es": (
        ("number", rf"cuant[oa]s?|que (?:{_AMOUNT})|cual es (?:el|la) (?:{_AMOUNT})"),
        ("when", rf"cuando|que (?:{_TIME})|cual es (?:el|la) (?:{_TIME})"),
        ("who", r"quien(?:es)?|como se llaman? (?=el|la|los|las|tu|su)"),
        ("where", rf"donde|adonde|que (?:{_PLACE})"),
        ("why", r"por que"),
        ("how", r"como|de que (?:manera|modo|forma)"),
        ("what", r"que|cual(?:es)?"),
    ),
    "en": (
        ("number", rf"how (?:many|much|long|old|far|tall|high|big|large|deep|wide)|(?:what|which) (?:{_AMOUNT})"),
        ("when", rf"when|(?:what|which) (?:{_TIME})"),
        ("who", r"who|whom|whose"),
        ("where", rf"where|(?:what|which) (?:{_PLACE})"),
        ("why", r"why"),
        ("how", r"how"),
        ("what", r"what|which"),
    ),
}
_ACCENTED = re.compile(r"\b(?:qué|quién(?:es)?|cu[áa]l(?:es)?|cuándo|cuánt[oa]s?|dónde|adónde|cómo)\b", re.I)
_VERB_FIRST = re.compile(
    r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|must|might)\b"
)
MONTHS = (
    "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|"
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
DAYS = (
    "lunes|martes|miercoles|jueves|viernes|sabados?|domingos?|"
    "mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?"
)
NUMERALS = (
    "un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieci\\w+|veint\\w+|"
    "treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa|cien|ciento|doscient\\w+|trescient\\w+|"
    "cuatrocient\\w+|quinient\\w+|mil|millon|millones|docena|"
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\\w+teen|twenty|thirty|forty|fifty|sixty|"
    "seventy|eighty|ninety|hundred|thousand|million|dozen|once|twice"
)
ARTICLES = ("un", "una", "uno", "one")
NUMBER = re.compile(rf"\b(?:\d[\d.,:]*|{NUMERALS})\b")
_DATE = re.compile(rf"\b(?:1\d{{3}}|20\d\d|{MONTHS}|{DAYS}|\d{{1,2}}[:.]\d\d|\d{{1,2}}/\d{{1,2}})\b")
WHY = re.compile(
    r"\b(?:porque|ya que|puesto que|dado que|debid[oa]s?|gracias a|a causa|por culpa|"
    r"por (?:falta|motivos?|exceso) del?|para que|por ello|asi que|de modo que|because|since|due to|owing to|"
    r"for lack of|so that|in order to|as a result|therefore|caused?)\b"
)
_EARLIER = re.compile(
    r"\b(?:antes|despues|primer[oa]?|mas (?:antigu|viej|jov|recient|moder|tard)\w*|mayor edad|"
    r"first|earlier|later|older|oldest|younger|youngest|newer|before|recently|born)\b"
)
_MORE = re.compile(
    r"\b(?:mas|menos|mayor|menor|more|less|fewer|most|larger|largest|longer|longest|bigger|taller|higher|greater|\w+est)\b"
)
_EITHER = re.compile(r"(?<=\w|»|\"|”|\)|,) (?:o|u|or) ")
_PLACED = re.compile(
    r"\b(?:en|a|al|de|del|desde|hasta|hacia|in|at|near|from|of|to|on)\s+(?:(?:el|la|los|las|the)\s+)?[A-ZÁÉÍÓÚÑ]"
)

_SPOT = re.compile(
    r"\b(?:en|junto a|(?:detras|debajo|encima|dentro|delante|enfrente|al lado) de|in|at|on|behind|under|beside|inside|"
    r"next to) (?:el|la|los|las|un|una|the|an?) (?!(?:dia|semana|mes|ano|hora|minuto|siglo|trimestre|curso|verano|"
    r"invierno|primavera|otono|manana|tarde|noche|momento|plazo|caso|day|week|month|year|hour|minute|century|summer|winter|"
    r"spring|autumn|morning|afternoon|evening|night|moment|case|end)(?:e?s)?\b)([a-z]+)"
)
"""What a thing is in or beside. Without an article it is mostly a manner ("en efectivo", "en silencio"); or a time."""
_IS = r"\b(?:es|son|era|eran|fue|sera|llaman?|is|are|was|were)\b"
_IS_ONE = re.compile(rf"{_IS} (?:el|la|los|las|tus?|sus?|the|your) ")
_BEHIND = re.compile(
    r"\b(?:al|del|(?:en|desde|hacia|hasta|a|de|por|para|con|in|at|near|from|of|by|to|for|with)"
    r"(?: (?:el|la|los|las|the))?)$"
)
_END = Word("", "", True)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for."""

    kind: AnswerKind
    """Kind of the answer; "" if the text is no recognisable question."""
    noun: str = ""
    """Term that follows the question word: what is counted after "how many", the class after "which", the role after
    "who is the"."""
    either: bool = False
    """True if the question offers alternatives ("A or B") or compares two subjects."""


def last_clause(question: str) -> str:
    """Return the question that stands last in a text, such as that of a follow-up behind the one before."""
    return question[question.rfind("¿") + 1 :] if "¿" in question else question


def plain_of(text: str) -> str:
    """Return the folded words of a text, without punctuation; "what's" as two."""
    plain = re.sub(r"\b(wh(?:at|o|en|ere|y)|how)['’]s\b", r"\1 is", fold(text))
    return " ".join(re.sub(r"[^\w\s'-]", " ", plain).split())


def asked(question: str, reader: Reader) -> Asked:
    """Return what a question asks for.

    Args:
        reader: knows the question's language, whose question words are tried.
    """
    clause = last_clause(question)
    plain = plain_of(clause)
    kind, rest = _kind_of(clause, plain, reader.language, "¿" in question or question.rstrip().endswith("?"))
    if kind == "who":
        rest = plain[is_one.end() :] if (is_one := _IS_ONE.search(plain)) else ""
    nouns = reader.ordered_terms(rest)
    noun = nouns[0] if nouns and kind in ("number", "what", "who") else ""
    either = bool(_EITHER.search(clause)) or bool(re.search(r"\b(?:both|same|mism[oa]s?|amb[oa]s)\b", plain))
    if either and kind in ("what", "who", "yes_no"):
        kind = "when" if _EARLIER.search(plain) else "number" if _MORE.search(plain) else "what"
    return Asked(kind, noun, either)


def _kind_of(clause: str, plain: str, language: str, is_question: bool) -> tuple[AnswerKind, str]:
    """Return (kind, the plain text behind the question word)."""
    patterns = _QUESTION[language]
    for kind, words in patterns:
        if found := re.match(rf"{_BEFORE}(?:{words})\b", plain):
            return kind, plain[found.end() :]
    if language == "es" and (accent := _ACCENTED.search(clause)):
        start = len(plain_of(clause[: accent.start()]))
        for kind, words in patterns:
            if found := re.match(rf"\s*(?:por )?(?:{words})\b", plain[start:]):
                return kind, plain[start + found.end() :]
    if language == "en":
        if _VERB_FIRST.match(plain):
            return "yes_no", plain
        for order in (("number", "when", "where", "what"), ("who", "when", "where", "why", "how")):
            for kind, words in patterns:
                if kind in order and (found := re.search(rf"\b(?:{words})\b", plain)):
                    return kind, plain[found.end() :]
    return ("yes_no" if is_question else ""), plain


class Fit:
    """Tells how well a text offers the kind of answer that a question asks for."""

    def __init__(self, wanted: Asked, question: str, reader: Reader) -> None:
        self._wanted, self._reader = wanted, reader
        self._known = frozenset(word.stem for word in reader.words(question))
        self._numbers = frozenset(NUMBER.findall(fold(question)))
        measures: dict[str, Callable[[str, str], float]] = {
            "when": lambda text, plain: self._date(plain),
            "number": lambda text, plain: self._amount(plain),
            "who": lambda text, plain: self._name(text),
            "where": lambda text, plain: self._place(text),
            "why": lambda text, plain: float(bool(WHY.search(plain))),
        }
        self._measure = measures.get(wanted.kind)

    def __call__(self, text: str) -> float:
        """Return 1 if ``text`` plainly has an answer of the kind asked for that the question lacks, else less."""
        return self._measure(text, fold(text)) if self._measure else 0.0

    def _date(self, plain: str) -> float:
        return float(any(found not in self._numbers and found not in self._known for found in _DATE.findall(plain)))

    def _amount(self, plain: str) -> float:
        best = 0.0
        for found in NUMBER.finditer(plain):
            if found.group() in self._numbers or found.group() in ARTICLES:
                continue
            following = self._reader.ordered_terms(plain[found.end() : found.end() + 40])[:2]
            best = max(best, 1.0 if self._wanted.noun in following else 0.5)
        return best

    def _name(self, text: str) -> float:
        text = "; ".join(text[start:end] for _, start, end in cells_of(text)) or text  # a column's name is nobody's
        words = self._reader.words(text)
        roles = [at for at, word in enumerate(words) if word.stem == self._wanted.noun and self._wanted.kind == "who"]
        names = self._names(words)
        if roles:
            names = [name for name in names if any(self._has_role(text, words, role, *name) for role in roles)]
        return max((1.0 if end - start > 1 else 0.6 for start, end in names), default=0.0)

    def _has_role(self, text: str, words: Sequence[Word], role: int, start: int, end: int) -> bool:
        """Return whether a name is put to the role that is asked for: nothing that the question lacks stands between
        ("La tesorera vive en Deba"), unless it ends with *is* or a comma, and it does not end with a preposition.
        """
        between = words[role + 1 : start] or words[end:role]
        new = not all(word.is_stop or word.stem in self._known for word in between)
        if start < role:
            return not new
        linked = re.search(_IS, _plain(between)) or re.search(rf"[,:(] *{_plain(words[start:end])}", fold(text))
        return (bool(linked) or not new) and not _BEHIND.search(_plain(between))

    def _place(self, text: str) -> float:
        for found in _PLACED.finditer(text):
            words = self._reader.words(text[found.end() - 1 : found.end() + 30])
            if words and words[0].stem not in self._known and not _DATE.fullmatch(words[0].text.lower()):
                return 1.0
        spots = [self._reader.terms(found[1]) for found in _SPOT.finditer(fold(text))]
        if any(spot and not spot & self._known for spot in spots):
            return 1.0
        return 0.3 if self._name(text) else 0.0

    def _names(self, words: Sequence[Word]) -> list[tuple[int, int]]:
        """Return (first word, behind its last) of the capitalised names that hold a word which the question lacks."""
        found: list[tuple[int, int]] = []
        run, fresh = 0, False
        for index, word in enumerate([*words, _END]):
            if word.text[:1].isupper() and not (word.is_stop and not run):
                run, fresh = run + 1, fresh or word.stem not in self._known
                continue
            if fresh and not run == index == 1:  # the first word of a sentence is always capitalised
                found.append((index - run, index))
            run, fresh = 0, False
        return found


def _plain(words: Sequence[Word]) -> str:
    return fold(" ".join(word.text for word in words))
