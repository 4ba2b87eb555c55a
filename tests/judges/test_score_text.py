"""The score of a judge that answers in prose: what is plainly one, and nothing else."""

from __future__ import annotations

import pytest

from chatbot_mvp.judges.reading import score_from_text

SCORES: list[tuple[str, float | None]] = [
    # JSON
    ('{"score": 0.7}', 0.7),
    ('{"score": 1}', 1.0),
    ('{"score": 0}', 0.0),
    ('{"score": 7}', 0.7),
    ('{"score": "8/10"}', 0.8),
    ('{"score": 85}', None),
    ('{"score": 7.5}', None),
    ('{"score": -0.3}', None),
    ('{"score": true}', None),
    ('{"score": NaN}', None),
    ('```json\n{"reason": "score: 3 no, más", "score": 0.9}\n```', 0.9),
    ("{'score': 0.4,}", 0.4),
    # Fractions
    ("8/10", 0.8),
    ("Le doy un 7,5/10.", 0.75),
    ("1/2", 0.5),
    ("**Score: 4/5**", 0.8),
    ("score: 3 out of 5", 0.6),
    ("Puntuación: 8 sobre 10", 0.8),
    ("0/10", 0.0),
    ("0/0", None),
    ("12/10", None),
    ("el 3/4/2020", None),
    ("en 3/2024", None),
    # Decimals that stand alone
    ("0.85", 0.85),
    ("0,85", 0.85),
    ("1.0", 1.0),
    ("0.0", 0.0),
    ("La fidelidad es 0.6.", 0.6),
    ("Score: 0.8 (en una escala de 0.0 a 1.0)", 0.8),
    ("Entre 0.3 y 0.5.", None),
    ("0.3-0.5", None),
    ("0.8, es decir, 0.8", 0.8),
    ("-0.3", None),
    ("0.8 %", None),
    ("0.8%", None),
    ("1.5", None),
    ("10.5", None),
    ("versión 1.0.3", None),
    # Integers, only behind their name
    ("score: 7", 0.7),
    ("Score = 10", 1.0),
    ("puntuación: 7", 0.7),
    ("Puntuacion: **9**", 0.9),
    ("La puntuación es 6.", 0.6),
    ("Nota: 5", 0.5),
    ("score: 0", 0.0),
    ("score: 1", None),
    ("score: 11", None),
    ("score: 10.5", None),
    ("score: 7.5", None),
    ("score: -3", None),
    ("score: 4. Antes pensé score: 6", None),
    ("7", None),
    ("1", None),
    ("10", None),
    ("20", None),
    ("100", None),
    ("Hay 3 errores en 10 frases", None),
    # Nothing
    ("", None),
    ("La respuesta es fiel al contexto.", None),
    ("no score", None),
    ("score: 5/" + "9" * 5_000, None),
    ("<think>score: 3</think>score: 8", 0.8),
    ("<think>quizá 0.5", None),
]


@pytest.mark.parametrize(("text", "expected"), SCORES, ids=[repr(text)[:40] for text, _ in SCORES])
def test_a_score_is_what_plainly_is_one(text: str, expected: float | None) -> None:
    assert score_from_text(text) == (None if expected is None else pytest.approx(expected))
