"""Write the numbers of lists and headings as Word shows them."""

from __future__ import annotations

from collections.abc import Iterator

_ROMAN_VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN = tuple(zip(_ROMAN_VALUES, "m cm d cd c xc l xl x ix v iv i".split(), strict=True))


def numeral(number: int, form: str) -> str:
    """Return a number in a form of Word: "upperRoman", "lowerLetter", "decimalZero"; others as digits."""
    if form.endswith("Letter"):
        letter = chr(97 + (number - 1) % 26) * (1 + (number - 1) // 26)
        return (letter.upper() if form.startswith("upper") else letter)[:10]
    if form.endswith("Roman") and 0 < number < 4_000:
        found = "".join(_digits(number))
        return found.upper() if form.startswith("upper") else found
    return f"{number:02}" if form == "decimalZero" else str(number)


def _digits(number: int) -> Iterator[str]:
    for value, letters in _ROMAN:
        yield letters * (number // value)
        number %= value
