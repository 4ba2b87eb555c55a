"""Find the figures of a text, with their units, so that "two weeks" and "14 days" are the same."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chatbot_mvp.chat.claims.lexicon import DAYS, MONTHS
from chatbot_mvp.llm.extractive.measurement import UNITS
from chatbot_mvp.text import Analyzer, fold

_WORDED = {
    language: {word: float(value) for value, words in enumerate(table.split(), 1) for word in words.split("/")}
    for language, table in {
        "es": """un/uno/una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis
            diecisiete dieciocho diecinueve veinte veintiuno/veintiun veintidos veintitres veinticuatro veinticinco""",
        "en": """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
            seventeen eighteen nineteen twenty""",
    }.items()
}
for _language, _tens in (
    ("es", "treinta cuarenta cincuenta sesenta setenta ochenta noventa cien"),
    ("en", "thirty forty fifty sixty seventy eighty ninety hundred"),
):
    _WORDED[_language] |= {word: 30.0 + 10 * row for row, word in enumerate(_tens.split())}
_WORDED["es"] |= {"media": 0.5, "medio": 0.5, "docena": 12.0, "ambos": 2.0}
_WORDED["en"] |= {"half": 0.5, "dozen": 12.0, "both": 2.0, "once": 1.0, "twice": 2.0}
_LARGE = {"mil": 1e3, "thousand": 1e3, "millon": 1e6, "millones": 1e6, "million": 1e6, "billion": 1e9}
_ALWAYS_COUNT = frozenset("un uno una one ambos both media medio half once twice".split())
"""Words that count only before a unit."""
_PIECE = re.compile(r"[€$£]|\d+(?:[.,:/-]\d+)*|[^\W\d_]+|[%°º]")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_LINKS = frozenset("de of a an".split())
_QUARTERS = re.compile(r"\b(un|tres) cuartos? de hora\b|\b(?:a |three )quarters?(?: of an hour)\b")
_CLOCK = re.compile(
    r"\b(?:(?P<h>\d{1,2})[:.](?P<m>\d\d)(?!\d|[.:]\d)(?: ?(?P<half>[ap])\.? ?m\b)?"
    r"|(?:las?|a las?) (?P<word>[a-z]+|\d{1,2})(?! (?:prim|segund|ultim))(?: y (?P<part>media|cuarto))?"
    r"(?: (?:de|por) la (?P<time>manana|tarde|noche))?(?= |[.,;]|$)"
    r"|(?P<hour>\d{1,2}) ?(?:(?P<ampm>[ap])\.? ?m\b|de la (?P<day>manana|tarde|noche)))"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of a text."""

    value: float | str
    """In the smallest unit of its kind; as written if it is no plain number ("10:00", "4.0.8")."""
    kind: str
    """"time", "money" and the like, "month", "day", "year"; "" if it has no unit that is known."""
    unit: str
    """The unit as written, or the stem of the word that follows; "" if none does."""
    written: str
    """With its unit, as it stands in the text."""
    start: int
    """Offset in the text, in characters."""


def quantities(text: str, analyzer: Analyzer) -> tuple[Quantity, ...]:
    """Return the figures of a text in order: numbers, numerals, months and days of the week."""
    language = "es" if analyzer.language_of(text) == "es" else "en"
    worded = _WORDED[language]
    pieces = [(found.group(), fold(found.group()), found) for found in _PIECE.finditer(text)]
    found, taken = _clocks(text, worded)
    row = 0
    while row < len(pieces):
        written, plain, match = pieces[row]
        row += 1
        if match.start() in taken:
            continue
        if plain in MONTHS and (plain not in ("may", "march") if language == "es" else written[0].isupper()):
            found.append(Quantity(float(MONTHS[plain]), "month", "", written, match.start()))
            continue
        if plain in DAYS:
            found.append(Quantity(float(DAYS[plain]), "day", "", written, match.start()))
            continue
        value = _value(plain, worded, language)
        if value is None:
            continue
        start, end, symbol = match.start(), match.end(), ""
        before = pieces[row - 2] if row > 1 else None
        if before and before[0] in "€$£" and before[2].end() == start:
            symbol = before[0]
        while row < len(pieces) and isinstance(value, float):
            size = _LARGE.get(pieces[row][1])
            if size is None and worded.get(pieces[row][1]) == 100.0 and language == "en":
                size = 100.0
            if size is None:
                break
            value, end, row = value * size, pieces[row][2].end(), row + 1
        unit, kind, scale, unit_end = "", "", 1.0, end
        ahead = row
        while ahead < len(pieces) and pieces[ahead][1] in ("por", "per", *_LINKS) and ahead < row + 1:
            ahead += 1
        if symbol:
            unit, (kind, scale) = symbol, UNITS[symbol]
        elif ahead < len(pieces) and not re.search(r"[.;:()\n]", text[end : pieces[ahead][2].start()]):
            following = pieces[ahead][1]
            if following in UNITS and (len(following) > 1 or not pieces[ahead][0].isupper() or following in "%€$£°º"):
                kind, scale = UNITS[following]
                unit, unit_end = pieces[ahead][0], pieces[ahead][2].end()
            elif following[0].isalpha() and ahead == row and "," not in text[end : pieces[ahead][2].start()]:
                word = analyzer.word(pieces[ahead][0])
                unit = "" if word.is_stop else word.stem
                unit_end = pieces[ahead][2].end() if unit else end
        if not kind and plain in worded and row > 1 and pieces[row - 2][1] == "las" and not unit:
            continue  # an hour, of the morning or the evening
        if plain in _ALWAYS_COUNT and not kind:
            continue
        if isinstance(value, float) and not kind and 1300 <= value <= 2100 and plain.isdigit():
            kind, unit, unit_end = "year", "", end
        if isinstance(value, float):
            value = round(value * scale, 6)
        found.append(Quantity(value, kind, unit, text[start:unit_end], start))
    return tuple(sorted(found, key=lambda one: one.start))


def _clocks(text: str, worded: dict[str, float]) -> tuple[list[Quantity], set[int]]:
    """Return the times of day, in minutes, and quarters of an hour, in seconds; and all offsets that they take."""
    plain = fold(text)
    if len(plain) != len(text):
        return [], set()  # offsets would not be those of the text
    found: list[Quantity] = []
    taken: set[int] = set()
    for match in _CLOCK.finditer(plain):
        hour = match["h"] or match["hour"] or match["word"]
        number = float(hour) if hour.isdigit() else worded.get(hour)
        if number is None or number > 24 or (match["word"] and not (match["part"] or match["time"])):
            continue
        minutes = float(match["m"] or {"media": 30, "cuarto": 15}.get(match["part"] or "", 0))
        if minutes > 59 or (match["h"] and "." in match.group() and not match["half"]):
            continue
        late = "p" in (match["half"], match["ampm"]) or {match["time"], match["day"]} & {"tarde", "noche"}
        value = number * 60 + minutes + (720 if late and number < 12 else 0)
        found.append(Quantity(value, "clock", "", text[match.start() : match.end()], match.start()))
        taken.update(range(match.start(), match.end()))
    for match in _QUARTERS.finditer(plain):
        many = 3 if "tres" in match.group() or "three" in match.group() else 1
        found.append(Quantity(many * 900.0, "time", "", match.group(), match.start()))
        taken.update(range(match.start(), match.end()))
    return found, taken


def _value(plain: str, worded: dict[str, float], language: str) -> float | str | None:
    """Return the number that a folded word says; as written if it is of another form; None if it is no number."""
    if not plain[0].isdigit():
        return worded.get(plain) if plain in worded else _LARGE.get(plain)
    if plain.isdigit():
        return float(plain) if len(plain) < 16 else plain
    if _GROUPED.fullmatch(plain):
        # A group of three after a point or comma: thousands in either language, unless the text begins with 0. With
        # several groups that is a code, such as "01.234.567".
        parts = re.split(r"[.,]", plain)
        if plain.startswith("0"):
            return float(".".join(parts)) if len(parts) == 2 else plain
        return float("".join(parts) if len(parts[-1]) == 3 else "".join(parts[:-1]) + "." + parts[-1])
    if re.fullmatch(r"\d+[.,]\d+", plain):
        return float(plain.replace(",", "."))
    return plain
