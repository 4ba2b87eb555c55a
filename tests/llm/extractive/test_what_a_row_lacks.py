"""A row whose cell for what is asked is empty does not answer, nor does one row tell what comes first."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.choice import choose
from chatbot_mvp.text import Analyzer, fold
from chatbot_mvp.types import Chunk

CONTACTS = """| Nombre | Teléfono | Fax |
|---|---|---|
| Ana | 943 11 22 33 | 943 11 22 34 |
| Luis | | 943 55 66 77 |
"""
ROOMS = """| Sala | Precio | Fianza |
|---|---|---|
| Azul | 30 € | 100 € |
| Roja | — | 200 € |
"""
TRAINS = "- Destino: Oporto; Salida: 8:00; Llegada: 10:00\n- Destino: Lisboa; Llegada: 11:00\n"
DUTIES = "- Semana: 2; Cocina: Eva; Cierra: Luis\n- Semana: 3; Cierra: Ana\n"
WORKSHOPS = "- Taller: Yoga; Plazas: veinte\n- Taller: Coro; Plazas: agotadas\n"
HOURS = """| Día | Apertura | Cierre |
|---|---|---|
| Lunes | 8:00 | 24:00 |
| Martes | 8.30 | 21.30 |
| Sábado | 9:00 am | 12.30 pm |
| Domingo | cerrado | |
"""
STEPS = "Para apagarla:\n\n1. Apague la caldera.\n2. Cierre la llave del gas.\n3. Abra la ventana.\n"
CARD = "El DNI de Ana es 12.345.678. La reunión es en mayo.\n"
FAX = "El fax de la oficina es 943 11 22 33. La reunión es en mayo.\n"
PHONE = "El teléfono de la oficina es 943 11 22 33. La reunión es en mayo.\n"


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (CONTACTS, "¿Cuál es el teléfono de Ana?", "943 11 22 33"),
        (CONTACTS, "¿Cuál es el fax de Luis?", "943 55 66 77"),
        (CONTACTS, "¿Cuál es el teléfono de Luis?", ""),
        (CONTACTS, "¿A qué número llamo a Luis?", ""),
        (ROOMS, "¿Cuál es la fianza de la sala Roja?", "200 €"),
        (ROOMS, "¿Cuánto cuesta la sala Roja?", ""),
        (TRAINS, "¿A qué hora es la llegada a Lisboa?", "11:00"),
        (TRAINS, "¿A qué hora sale el de Lisboa?", ""),
        (DUTIES, "¿Quién está en la cocina la semana 2?", "Eva"),
        (DUTIES, "¿Quién está en la cocina la semana 3?", ""),
        (WORKSHOPS, "¿Cuántas plazas tiene yoga?", "veinte"),
        (WORKSHOPS, "¿Cuántas plazas quedan en el coro?", ""),
        (WORKSHOPS, "¿Cuántas plazas hay?", ""),
        (HOURS, "¿Qué día cierra antes?", ""),
        (HOURS, "¿Qué día abre más temprano?", ""),
        (STEPS, "¿Qué hago antes de cerrar la llave del gas?", ""),
        (STEPS, "¿Qué hay que hacer después de cerrar la llave del gas?", ""),
        (PHONE, "¿Cuál es el teléfono de la oficina?", "943 11 22 33"),
        (FAX, "¿Cuál es el teléfono de la oficina?", ""),
        (CARD, "¿Cuál es el teléfono de Ana?", ""),
    ],
)
def test_only_what_is_asked_for_answers(text: str, question: str, answer: str) -> None:
    words = re.findall(r"\w+", fold(question))
    long = [word[:4] for word in words if len(word) > 3]

    def near(texts: Sequence[str]) -> list[tuple[float, dict[str, float]]]:
        """All words are near; the text that has most of them, by their beginnings, is closest."""
        return [(sum(word in fold(one) for word in long) / len(long), dict.fromkeys(words, 1.0)) for one in texts]

    passage = Chunk("c", "d", "Datos", text, 0, len(text))
    for closer in (None, near):
        chosen = choose(Grounding(question, (passage,), "es", analyzer=Analyzer("es"), near=closer, least_proof=1.0))
        assert bool(chosen.units) is bool(answer), (chosen.units, chosen.said)
        assert all(answer in unit.text for unit in chosen.units)
        assert not chosen.said
