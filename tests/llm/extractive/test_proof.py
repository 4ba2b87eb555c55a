"""In strict mode a quote answers only if it has what is asked for: a table of questions about a club's rules."""

from __future__ import annotations

import pytest

from chatbot_mvp.llm.base import ChatRequest, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.extractive.values import value_asked
from chatbot_mvp.types import Chunk

HEAD = "| Socio | Mensual | Anual |\n|---|---|---|\n"
SECTIONS = {
    "Horario": "El club abre de martes a domingo. El bar cierra a las 23:30. "
    "La piscina está abierta de junio a septiembre.",
    "Cuotas": "| Socio | Mensual | Anual |\n|---|---|---|\n| Adulto | 31 € | 340 € |\n| Infantil | 18 € | 195 € |\n"
    "| Pareja | 52 € | 570 € |\n\nLa taquilla se paga aparte.",
    "Alta": "Para el alta se entregan:\n\n- una copia del DNI\n- dos fotos\n- el justificante del banco\n\n"
    "La tarjeta tarda cinco días en llegar.",
    "Pistas": "Hay cuatro pistas de tenis. Un partido dura una hora como máximo. "
    "La pista se reserva con Elena Robles en el 600 123 987.",
    "Bajas": "Con más de siete días de aviso no se paga nada. Con menos de siete días de aviso se paga el mes. "
    "No hay guardería.",
    "Sauna": "La sauna se cierra: la caldera está rota. El encargado de la sauna abre a diario.",
    "Prohibido": "- Fumar en las gradas\n- Entrar con perros\n- Comer en la piscina",
}
PASSAGES = tuple(
    Chunk(f"c{row}", "d", f"Club > {name}", f"## {name}\n\n{text}\n\nFin.", 0, len(text))
    for row, (name, text) in enumerate(SECTIONS.items())
)


def reply(question: str, evidence: float = 0.75) -> str:
    """Ask over all sections, without vectors."""
    grounding = Grounding(question, PASSAGES, "es", evidence=evidence)
    return DemoModel().complete(ChatRequest((), grounding=grounding)).text


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        (
            "¿Cuánto cuesta al mes la cuota infantil?",
            "| Socio | Mensual | Anual |\n|---|---|---|\n| Infantil | 18 € | 195 € |",
        ),
        ("¿A qué hora cierra el bar?", "El bar cierra a las 23:30."),
        ("¿Cuánto dura un partido?", "Un partido dura una hora como máximo."),
        ("¿Cuánto tarda la tarjeta?", "La tarjeta tarda cinco días en llegar."),
        ("¿A qué teléfono llamo para reservar la pista?", "600 123 987"),
        ("¿Con quién se reserva la pista?", "Elena Robles"),
        ("¿Por qué se cierra la sauna?", "La sauna se cierra: la caldera está rota."),
        ("¿Cuántas pistas de tenis hay?", "Hay cuatro pistas de tenis."),
        # Other numbers are other cases, and a denial repeats nothing.
        ("¿Qué se paga con cinco días de aviso?", "Con menos de siete días de aviso se paga el mes."),
        ("¿Qué se paga con 9 días de aviso?", "Con más de siete días de aviso no se paga nada."),
        ("¿Hay guardería?", "No hay guardería."),
        # A list without a line above it is quoted as a whole.
        ("¿Qué está prohibido?", "- Fumar en las gradas\n- Entrar con perros\n- Comer en la piscina"),
        # What nobody counted is counted.
        ("¿Cuántos documentos se entregan para el alta?", "Son 3:\n\nPara el alta se entregan:\n- una copia del DNI"),
        # The most and the least of a column; two columns that disagree would answer nothing.
        ("¿Qué socio paga la cuota anual más barata?", "| Infantil | 18 € | 195 € |"),
        ("¿Qué socio paga la cuota más cara?", "| Pareja | 52 € | 570 € |"),
    ],
)
def test_an_answer_has_what_is_asked_for(question: str, quoted: str) -> None:
    assert quoted in reply(question)
    assert reply(question).count("[") <= 1


@pytest.mark.parametrize(
    "question",
    [
        "¿Cuánto cuesta la piscina?",  # an amount is asked for, and months are there
        "¿Cuánto cuesta reservar la pista?",
        "¿Cuánto dura la piscina?",
        "¿A qué hora abre la taquilla?",
        "¿A qué correo escribo para reservar la pista?",
        "¿Qué porcentaje de la cuota se paga por la taquilla?",
        "¿Cuántas piscinas tiene el club?",  # the numbers are of something else
        "¿Cuánto cuesta la cuota de 2031?",  # a year that no passage has
        "¿Cómo se llama el encargado de la sauna?",  # he has no name here
    ],
)
def test_without_what_is_asked_for_there_is_no_answer(question: str) -> None:
    assert reply(question) == ""


def test_less_evidence_needs_a_plainer_answer() -> None:
    sure, doubtful = (reply("¿Se puede fumar en el club?", evidence) for evidence in (0.9, 0.3))
    assert "Fumar en las gradas" in sure
    assert doubtful == ""


@pytest.mark.parametrize(
    ("plain", "value", "rest"),
    [
        ("cuanto me cobran por el agua", "money", "por el agua"),
        ("cada cuanto se revisa la caldera", "frequency", "se revisa la caldera"),
        ("hasta cuando puedo apuntarme", "when", "puedo apuntarme"),
        ("a que hora abre", "time", "abre"),
        ("how long does it take", "duration", "does it take"),
        ("que color tiene", "", "que color tiene"),
    ],
)
def test_the_words_for_a_value_need_not_be_in_the_answer(plain: str, value: str, rest: str) -> None:
    kind, left = value_asked(plain)
    assert (kind, left.strip()) == (value, rest)
