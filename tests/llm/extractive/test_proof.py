"""In strict mode a quote answers only if it has what is asked for: a table of questions about a club's rules."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chatbot_mvp.llm.base import ChatRequest, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.extractive.limits import contradicts, other_time
from chatbot_mvp.llm.extractive.values import gives, value_asked
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


def over(text: str, question: str, evidence: float = 0.75, closest: str = "") -> str:
    """Ask over one section called "Curso"; without vectors unless a word of the closest sentence is given."""

    def closeness(texts: Sequence[str]) -> list[float]:
        return [0.9 if closest in text else 0.1 for text in texts]

    passage = Chunk("c", "d", "Club > Curso", text, 0, len(text))
    grounding = Grounding(question, (passage,), "es", closeness if closest else None, evidence=evidence)
    return DemoModel().complete(ChatRequest((), grounding=grounding)).text


@pytest.mark.parametrize(
    "text",
    [
        "En los conciertos del curso se viste de negro.",  # the question's own word in the plural is no place
        "Quien falta a los dos últimos ensayos no canta en el concierto del curso.",  # nor is an article
    ],
)
def test_a_place_is_a_word_that_the_question_does_not_have(text: str) -> None:
    assert over(text, "¿Dónde es el concierto del curso?") == ""
    assert over(f"{text} El concierto del curso es en el teatro.", "¿Dónde es el concierto del curso?").startswith(
        "El concierto del curso es en el teatro."
    )


LIST = "Hay muchas ganas. La comisión del curso la forman:\n\n- Ana Gil\n- Luis Rey\n- Eva Paz"


@pytest.mark.parametrize(
    ("text", "question", "quoted"),
    [
        # A list is quoted with the sentence that introduces it, and without the one before.
        (LIST, "¿Quién está en la comisión del curso?", LIST.partition(". ")[2].replace("\n\n", "\n")),
        # The only telephone number is the one that is asked for.
        ("Avisos: 600 123 987.\n\nEl curso dura un mes.", "¿A qué número llamo si hay un problema?", "600 123 987"),
        # What holds under another condition is no answer, what the question shares half of is one.
        (
            "Si llueve, el curso se da el viernes. El curso se da los lunes.",
            "¿Qué días se da el curso?",
            "El curso se da los lunes.",
        ),
        (
            "Si el banco devuelve un recibo, hay cinco días para pagarlo.",
            "¿Cuántos días hay para pagar un recibo que devuelve el banco?",
            "hay cinco días",
        ),
        # So is what a question asks for under a condition that another sentence treats.
        (
            "La camiseta del curso cuesta 48 euros. Los estudiantes pagan la mitad.",
            "¿Cuánto pago por el curso si estudio?",
            "Los estudiantes pagan la mitad.",
        ),
        (
            "La camiseta del curso es roja, y la toalla es azul.",
            "¿De qué color es la camiseta del curso?",
            "La camiseta del curso es roja",
        ),
        (
            "El curso se pierde si no se paga. El curso cuesta 40 euros.",
            "¿Qué pasa si no pago el curso?",
            "El curso se pierde si no se paga.",
        ),
        # Where one gets through is a place, "in all" is none.
        (
            "El casco se lleva en toda la sala. En caso de incendio se sale por el patio.",
            "¿Por dónde se sale si hay un incendio?",
            "se sale por el patio",
        ),
        # A noun may be shortened.
        ("La sala del curso tiene 22 bicicletas.", "¿Cuántas bicis tiene la sala del curso?", "22 bicicletas"),
    ],
)
def test_what_an_answer_is_taken_from(text: str, question: str, quoted: str) -> None:
    assert quoted in over(text, question)
    assert "Hay muchas ganas" not in over(text, question)
    assert "Si llueve" not in over(text, question)
    assert "48 euros" not in over(text, question)
    assert "casco" not in over(text, question)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("El curso sale de la estación de Burgos a las 8:15.", "¿Quién da el curso?"),  # Burgos is nobody
        ("| Curso | Precio |\n|---|---|\n| Yoga | 20 € |", "¿Quién da el curso de yoga?"),  # and so are columns
        ("El curso cuesta 27 euros.", "¿Cuánto costaba el curso el año pasado?"),
        ("El curso es para menores de 16 años.", "¿Cuánto dura el curso?"),
        ("El curso se revisa cada dos años.", "¿Cuántos años dura el curso?"),
        (
            "El curso cuesta 40 euros. Quien no cultiva la parcela del curso la pierde.",
            "¿Cuánto cuesta el curso? ¿Y si no la cultivo?",  # the price is no answer to that
        ),
        ("La camiseta del curso se compra en mayo.", "¿De qué color es la camiseta del curso?"),
        ("En el curso se usa una docena de huevos.", "¿Cuánto se aguanta en el curso?"),
    ],
)
def test_what_only_looks_like_an_answer(text: str, question: str) -> None:
    assert over(text, question) == ""


def test_most_of_a_questions_words_are_plain_enough_with_little_evidence() -> None:
    text = "Pintar el aula está permitido, en colores claros. La merienda es por la tarde."
    same, others = "¿Está permitido pintar el aula?", "¿Me dejan dar color?"
    assert "Pintar" in over(text, same, evidence=0.3, closest="Pintar")
    assert over(text, others, evidence=0.3, closest="Pintar") == ""


def test_the_closest_sentence_without_a_word_of_the_question_answers_only_what_is_treated_nowhere_else() -> None:
    price = "La merienda vale 4 euros."
    assert price in over(f"El aula es grande. {price}", "¿Cuánto cobra Luis por el almuerzo?", closest="merienda")
    elsewhere = f"El conserje Luis trabaja solo. El aula es grande. {price}"
    assert over(elsewhere, "¿Cuánto cobra el conserje?", closest="merienda") == ""


@pytest.mark.parametrize(
    ("kind", "text", "question", "given"),
    [
        ("measure", "admite 1,4 litros", "cuanto pesa el deposito", False),
        ("measure", "pesa 1,4 kilos", "cuanto pesa el deposito", True),
        ("measure", "caben 1,4 litros", "cuanto cabe", True),
        ("measure", "pesa 3 kilos", "cuanto mide de alto", False),
        ("duration", "menores de 16 anos", "cuanto tarda", False),
        ("duration", "menores de 16 anos", "cuantos anos hay que tener", True),
        ("duration", "dura 16 anos", "cuanto dura", True),
        ("duration", "dura hora y media", "cuanto dura", True),
        ("duration", "it takes half an hour", "how long does it take", True),
        ("when", "se pasa el dia 5", "cuando se pasa", True),
        ("date", "tome la salida 118 desde el rio", "en que ano se hizo", False),
    ],
)
def test_a_value_is_of_the_kind_and_the_unit_asked_for(kind: str, text: str, question: str, given: bool) -> None:
    assert gives(kind, text, question) is given


def test_what_rules_a_text_out() -> None:
    assert contradicts("con menos de siete dias", "con 9 dias")
    assert other_time("cuesta 27 euros", "cuanto costaba el ano pasado")
    assert not other_time("costaba 27 euros en 2024", "cuanto costaba el ano pasado")
    assert not other_time("hasta marzo", "hasta cuando valen los dias del ano pasado")


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
        ("how much is home delivery", "money", "home delivery"),
        ("que rebaja hay", "percentage", "hay"),
        ("con cuanto tiempo se reserva", "deadline", "se reserva"),
        ("que sabor tiene", "", "que sabor tiene"),
    ],
)
def test_the_words_for_a_value_need_not_be_in_the_answer(plain: str, value: str, rest: str) -> None:
    kind, left = value_asked(plain)
    assert (kind, left.strip()) == (value, rest)
