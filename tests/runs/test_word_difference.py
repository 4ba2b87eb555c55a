"""An answer against its reference, word by word."""

from __future__ import annotations

import pytest

from chatbot_mvp.runs.query_views import word_difference


def told(reference: str, answer: str, language: str = "es") -> tuple[str, str]:
    """Both texts, what only one of them has between < and >."""
    sides = word_difference(reference, answer, language)
    assert ["".join(part.text for part in side) for side in sides] == [reference, answer]
    one, two = ("".join(part.text if part.shared else f"<{part.text}>" for part in side) for side in sides)
    return one, two


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("El faro de Alba", "el Faro, de Alba.", ("El faro de Alba", "el Faro, de Alba.")),
        ("la caldereta", "una caldereta de anguila", ("la caldereta", "una caldereta< de anguila>")),
        ("en 1904 murió", "murió en 1905", ("en< 1904> murió", "murió en< 1905>")),
        # Twice in one text and once in the other: shared once.
        ("no", "no y no", ("no", "no< y no>")),
        ("dos palabras", "", ("<dos palabras>", "")),
        ("<b>&", "<b>&", ("<b>&", "<b>&")),
        # White space after the last word is shared, whatever the word is.
        ("un faro \n", "isla ", ("un< faro> \n", "<isla> ")),
    ],
)
def test_what_only_one_of_them_says(reference: str, answer: str, expected: tuple[str, str]) -> None:
    assert told(reference, answer) == expected


def test_articles_count_in_no_language_but_their_own() -> None:
    assert told("the lake", "lake", "en") == ("the lake", "lake")
    assert told("the lake", "lake", "es") == ("<the> lake", "lake")
    assert told("lago", "el lago", "es") == ("lago", "el lago")
    # "a" is an article in English only.
    assert told("voy a casa", "a casa", "es") == ("<voy> a casa", "a casa")
    assert told("casa", "a casa", "es") == ("casa", "<a> casa")
    assert told("lago", "el lago", "en") == ("lago", "<el> lago")
    assert told("el lago", "el el lago", "en") == ("el lago", "el< el> lago")
