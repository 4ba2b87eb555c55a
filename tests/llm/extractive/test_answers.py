"""Without a model, the quoted sentences are of the kind asked for and follow the chain of names."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chatbot_mvp.llm.base import ChatRequest, Completion, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.types import Chunk

TALLER = (
    "Taller",
    "El taller de bicicletas abrió en marzo de 2012 junto a la plaza. Lo fundó Aurelia Campos con dos socios. "
    "El taller de bicicletas está en la calle del Olmo. Repara unas cuarenta bicicletas por semana. "
    "Los miércoles el taller cierra porque el equipo hace inventario. "
    "Para reservar una reparación, escriba al taller con una foto de la avería.",
)
WORKSHOP = (
    "Workshop",
    "The bicycle workshop opened in March 2012 beside the square. Aurelia Campos founded it with two partners. "
    "The bicycle workshop is in Elm Street. It repairs about forty bicycles a week. "
    "On Wednesdays the workshop closes because the team takes stock. "
    "To book a repair, write to the workshop with a photo of the damage.",
)


def reply(question: str, *passages: tuple[str, str], language: str = "es", whole_document: bool = False) -> Completion:
    """Ask the demo provider. Each passage is (heading, text), of one document or of a document each."""
    chunks = tuple(
        Chunk(f"c{row}", "d" if whole_document else f"d{row}", heading, text, 0, len(text))
        for row, (heading, text) in enumerate(passages)
    )
    completion = DemoModel().complete(ChatRequest((), grounding=Grounding(question, chunks, language)))
    for quote in completion.quotes or ():
        assert chunks[quote.number - 1].text[quote.start : quote.end] in completion.text
    return completion


def test_the_same_question_gets_the_same_answer() -> None:
    assert len({reply("¿Qué hace el taller?", TALLER, *CONSERVAS).text for _ in range(5)}) == 1


BICI = "Se me ha roto la bici, ¿cómo reservo una reparación?"
KINDS = [
    ("¿Quién fundó el taller?", "Lo fundó Aurelia Campos con dos socios."),
    ("¿Cuándo abrió el taller de bicicletas?", "El taller de bicicletas abrió en marzo de 2012 junto a la plaza."),
    ("¿En qué calle está el taller de bicicletas?", "El taller de bicicletas está en la calle del Olmo."),
    ("¿Cuántas bicicletas repara el taller?", "Repara unas cuarenta bicicletas por semana."),
    ("¿Por qué cierra el taller algunos días?", "Los miércoles el taller cierra porque el equipo hace inventario."),
    (BICI, "Para reservar una reparación, escriba al taller con una foto de la avería."),
    ("Who founded the workshop?", "Aurelia Campos founded it with two partners."),
    ("When did the bicycle workshop open?", "The bicycle workshop opened in March 2012 beside the square."),
    ("In which street is the bicycle workshop?", "The bicycle workshop is in Elm Street."),
    ("How many bicycles does the workshop repair?", "It repairs about forty bicycles a week."),
    ("Why does the workshop close on some days?", "On Wednesdays the workshop closes because the team takes stock."),
    ("How do I book a repair?", "To book a repair, write to the workshop with a photo of the damage."),
]


@pytest.mark.parametrize(("question", "answer"), KINDS)
def test_the_answer_is_the_sentence_of_the_kind_asked_for(question: str, answer: str) -> None:
    passage, language = (TALLER, "es") if answer in TALLER[1] else (WORKSHOP, "en")
    assert reply(question, passage, language=language).text == f"{answer} [1]"


@pytest.mark.parametrize(
    ("language", "question", "passage"),
    [
        # A yes/no question is answered by the sentence that allows or forbids.
        (
            "es",
            "¿Pueden entrar perros en el comedor?",
            "El comedor tiene una mesa con perros tallados. *No se permite entrar con perros en el comedor.*",
        ),
        (
            "en",
            "Can dogs enter the dining room?",
            "The dining room has a table with carved dogs. *Dogs are not allowed to enter the dining room.*",
        ),
        # The answer never only repeats the question.
        (
            "es",
            "¿Puedo devolver un libro fuera de plazo?",
            "¿Se puede devolver un libro fuera de plazo?\n\n*Sí, con un recargo de 20 céntimos al día.* El buzón de la "
            "puerta funciona a cualquier hora.",
        ),
        (
            "en",
            "Can I return a book late?",
            "## Can I return a book late?\n\n*Yes, for a charge of 20 cents a day.* The letter box is always open.",
        ),
        (
            "es",
            "¿Cuál es el plazo de devolución de un libro?",
            "Plazo de devolución de un libro. *Son tres semanas desde el día del préstamo del libro.*",
        ),
        # A table of one column is read as text.
        (
            "es",
            "¿Cuánto tarda el horno en enfriarse?",
            "| |\n| --- |\n| El horno se limpia en frío. *El horno tarda una hora en enfriarse.* |",
        ),
    ],
)
def test_of_a_passage_the_sentence_between_asterisks_is_quoted(language: str, question: str, passage: str) -> None:
    quoted = passage.split("*")[1]
    assert reply(question, ("Casa", passage.replace("*", "")), language=language).text == f"{quoted} [1]"


LISTA = (
    "Alta de socios",
    "## Alta de socios\n\nPara darse de alta hay que entregar:\n\n- una copia del documento de identidad;\n"
    "- un justificante de domicilio de los últimos\n  tres meses;\n- la cuota de inscripción, de 15 euros.\n\n"
    "La tarjeta llega por correo en dos semanas.",
)


def test_a_list_item_is_quoted_with_the_line_that_introduces_it() -> None:
    completion = reply("¿Cuánto es la cuota de inscripción para darse de alta?", LISTA)
    assert completion.text == ("Para darse de alta hay que entregar:\n- la cuota de inscripción, de 15 euros. [1]")
    assert completion.quotes is not None
    assert len(completion.quotes) == 2


def test_a_question_about_a_whole_list_is_answered_with_all_its_items() -> None:
    text = reply("¿Qué hay que entregar para darse de alta?", LISTA).text
    assert all(words in text for words in ("entregar:\n- una copia", "domicilio de los últimos\n  tres meses", "cuota"))


@pytest.mark.parametrize(
    ("language", "question", "header", "row"),
    [
        ("es", "¿Cuál es el precio mensual del abono familiar?", "| Abono | Precio mensual |", "| Familiar | 55 € |"),
        ("en", "What is the monthly price of the family pass?", "| Pass | Monthly price |", "| Family | 55 € |"),
    ],
)
def test_a_table_row_is_quoted_with_the_names_of_its_columns(
    language: str, question: str, header: str, row: str
) -> None:
    other = row.replace("Famil", "Juven").replace("55", "32")
    passage = ("", f"{header}\n| --- | --- |\n{other}\n{row}\n")
    assert reply(question, passage, language=language).text == f"{header}\n| --- | --- |\n{row}\n\n[1]"


def test_two_rows_of_a_table_are_quoted_as_one_table() -> None:
    passage = ("", "| Sala | Aforo |\n| --- | --- |\n| Norte | 40 |\n| Patio | 90 |\n| Sur | 60 |\n")
    assert reply("¿Qué aforo tienen la sala Norte y la sala Sur?", passage).text == (
        "| Sala | Aforo |\n| --- | --- |\n| Norte | 40 |\n| Sur | 60 |\n\n[1]"
    )


CONSERVAS = (
    (
        "Conservas Arriaga",
        "Conservas Arriaga es una fábrica de anchoas de Puerto Nublo. La creó Edelmira Sotillo en 1911. "
        "Exporta a seis países.",
    ),
    ("Puerto Nublo", "Puerto Nublo es una villa con tres playas. Un ingeniero estudió las mareas del puerto."),
    (
        "Edelmira Sotillo (empresaria)",
        "Edelmira Sotillo fue una empresaria. Estudió química en Valdelosa. Dejó sus recetas a sus nietas.",
    ),
)
CANNERY = (
    (
        "Arriaga Cannery",
        "Arriaga Cannery is an anchovy factory in Port Nublo. It was founded by Edelmira Sotillo in 1911. "
        "It exports to six countries.",
    ),
    ("Port Nublo", "Port Nublo is a town with three beaches. An engineer studied the tides of the port."),
    (
        "Edelmira Sotillo",
        "Edelmira Sotillo was a business woman. She studied chemistry in Valdelosa. Her nieces got her recipes.",
    ),
)


@pytest.mark.parametrize(
    ("language", "question", "passages", "answer"),
    [
        (
            "es",
            "¿Dónde estudió la persona que creó Conservas Arriaga?",
            CONSERVAS,
            "La creó Edelmira Sotillo en 1911. [1]\n\nEstudió química en Valdelosa. [3]",
        ),
        (
            "en",
            "Where did the founder of Arriaga Cannery study?",
            CANNERY,
            "It was founded by Edelmira Sotillo in 1911. [1]\n\nShe studied chemistry in Valdelosa. [3]",
        ),
    ],
)
def test_a_question_of_two_hops_is_answered_by_the_passage_that_the_first_one_names(
    language: str, question: str, passages: Sequence[tuple[str, str]], answer: str
) -> None:
    assert reply(question, *passages, language=language).text == answer


def test_without_the_second_passage_a_question_of_two_hops_gets_no_sentence_about_others() -> None:
    text = reply("¿Dónde estudió la persona que creó Conservas Arriaga?", CONSERVAS[0]).text
    assert "[1]" in text
    assert "Valdelosa" not in text


def test_two_subjects_are_compared_with_a_sentence_about_each() -> None:
    text = reply(
        "¿Qué molino se construyó antes, el molino Alto o el molino Viejo?",
        ("Molino Alto", "El molino Alto se construyó en 1790 con piedra del río. Da nombre a un barrio."),
        ("Río", "El río mueve tres molinos. El molino Alto se ve desde el río."),
        ("Molino Viejo", "El molino Viejo es de madera. El molino Viejo se construyó en 1812."),
    ).text
    assert text == (
        "El molino Alto se construyó en 1790 con piedra del río. [1]\n\nEl molino Viejo se construyó en 1812. [3]"
    )


def test_headings_of_one_document_lead_on_only_if_they_are_named_in_full() -> None:
    """ "Incorporación" alone is a word like any other, not the name of the section *Incorporación y salida*."""
    passages = (
        ("Material", "El material se entrega el día de la Incorporación de cada persona. El almacén lo prepara."),
        ("Incorporación y salida", "El contrato se firma en papel. La llave se entrega en recepción."),
    )
    text = reply("¿Qué día se entrega el material?", *passages, whole_document=True).text
    assert text == "El material se entrega el día de la Incorporación de cada persona. [1]"


def test_an_answer_has_at_most_three_passages_even_if_everything_matches() -> None:
    text = " ".join(f"La norma {number} regula el ruido de la obra." for number in range(40))
    assert reply("¿Qué regula el ruido de la obra?", ("Normas", text)).text.count("[1]") <= 3


def test_similarity_in_meaning_finds_the_sentence_that_shares_no_rare_word() -> None:
    text = "La oficina abre a las ocho. El descanso de la oficina dura media hora. La oficina tiene aparcamiento."
    chunk = Chunk("c", "d", "", text, 0, len(text))
    question = "¿Qué pausa hay en la oficina?"

    def closeness(texts: Sequence[str]) -> list[float]:
        return [0.9 if "descanso" in text else 0.8 for text in texts]

    with_meaning = DemoModel().complete(ChatRequest((), grounding=Grounding(question, (chunk,), "es", closeness)))
    assert with_meaning.text == "El descanso de la oficina dura media hora. [1]"


def test_a_question_about_a_heading_gets_the_beginning_of_its_section() -> None:
    care = ("Cuidados", "La descalcificación se hace cada 200 cafés. Aclare con dos depósitos llenos.")
    for question in ("¿Qué hay sobre cuidados?", "¿Qué hay sobre «cuidados»?"):
        assert reply(question, care).text.startswith("La descalcificación se hace cada 200 cafés.")


def test_without_a_common_word_the_sentence_that_is_closest_in_meaning_is_quoted() -> None:
    text = "El depósito admite 1,4 litros. El aparato se apaga solo tras nueve minutos."
    chunk = Chunk("c", "d", "Uso", text, 0, len(text))
    grounding = Grounding(
        "¿Cuánto tarda en desconectarse?", (chunk,), "es", lambda all: [0.9 * ("apaga" in t) for t in all]
    )
    assert DemoModel().complete(ChatRequest((), grounding=grounding)).text.startswith("El aparato se apaga")
    assert not reply("¿Cuánto tarda en desconectarse?", ("Uso", text)).text
