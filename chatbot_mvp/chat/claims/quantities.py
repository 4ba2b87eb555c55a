"""Find the figures of a text, with their units, so that "two weeks" and "14 days" are the same."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chatbot_mvp.chat.claims.lexicon import DAYS, MONTHS
from chatbot_mvp.text import Analyzer, fold

_HOUR, _DAY = 3600.0, 86400.0
_UNITS: dict[str, tuple[str, float]] = {
    word: (kind, size)
    for kind, size, words in (
        ("time", 0.001, "ms milisegundo milisegundos millisecond milliseconds"),
        ("time", 1.0, "s segundo segundos second seconds sec secs"),
        ("time", 60.0, "min minuto minutos minute minutes mins"),
        ("time", _HOUR, "h hora horas hour hours"),
        ("time", _DAY, "dia dias day days noche noches night nights"),
        ("time", 7 * _DAY, "semana semanas week weeks"),
        ("time", 14 * _DAY, "quincena quincenas fortnight fortnights"),
        ("time", 30 * _DAY, "mes meses month months"),
        ("time", 90 * _DAY, "trimestre trimestres"),
        ("time", 180 * _DAY, "semestre semestres"),
        ("time", 360 * _DAY, "ano anos year years"),
        ("time", 3600 * _DAY, "decada decadas decade decades"),
        ("time", 36000 * _DAY, "siglo siglos century centuries"),
        ("money", 1.0, "euro euros eur €"),
        ("dollars", 1.0, "dolar dolares dollar dollars usd $"),
        ("pounds", 1.0, "libra libras pound pounds gbp £"),
        ("pounds", 0.01, "penique peniques penny pence"),
        ("share", 1.0, "% percent cent ciento"),
    )
    for word in words.split()
}
"""Word -> (what it measures, its size in the smallest unit of that). A month has 30 days, a year twelve months."""
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
_ALWAYS_COUNT = frozenset("un uno una one ambos both media medio half once twice".split())
"""Words that count only before a unit."""
_PIECE = re.compile(r"[€$£]|\d+(?:[.,:/-]\d+)*|[^\W\d_]+|[%°º]")
_GROUPED = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*(?:[.,]\d+)?")
_LINKS = frozenset("de of a an por per".split())


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
    found: list[Quantity] = []
    row = 0
    while row < len(pieces):
        written, plain, match = pieces[row]
        row += 1
        # "May" is a month, "may" is not; in Spanish neither is.
        if plain in MONTHS and (written[0].isupper() if language == "en" else plain not in ("may", "march")):
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
        unit, kind, scale, unit_end = "", "", 1.0, end
        ahead = row + (row < len(pieces) and pieces[row][1] in _LINKS)
        if symbol:
            kind, scale = _UNITS[symbol]
            unit = symbol
        elif ahead < len(pieces) and not re.search(r"[.;:()\n]", text[end : pieces[ahead][2].start()]):
            following = pieces[ahead][1]
            if following in _UNITS and (len(following) > 1 or not pieces[ahead][0].isupper() or following in "%€$£°º"):
                kind, scale = _UNITS[following]
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
    return tuple(found)


def _value(plain: str, worded: dict[str, float], language: str) -> float | str | None:
    """Return the number that a folded word says; as written if it is of another form; None if it is no number."""
    if not plain[0].isdigit():
        return worded.get(plain)
    if plain.isdigit():
        return float(plain) if len(plain) < 16 else plain
    if _GROUPED.fullmatch(plain):
        # A group of three after a point or comma: thousands in either language, unless the text begins with 0.
        parts = re.split(r"[.,]", plain)
        whole = "".join(parts) if len(parts[-1]) == 3 else "".join(parts[:-1]) + "." + parts[-1]
        return float(whole) if not plain.startswith("0") else float(plain.replace(",", "."))
    if re.fullmatch(r"\d+[.,]\d+", plain):
        return float(plain.replace(",", "."))
    return plain
