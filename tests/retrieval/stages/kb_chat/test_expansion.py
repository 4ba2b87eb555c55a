"""The KB chat expands every question by the knowledge base's own headings, frequent words and neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.kb_chat.expansion import MAX_ADDED
from chatbot_mvp.retrieval.stages.kb_chat.words import without_label
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings, load_settings
from tests.retrieval.stages.kb_chat.handbook import kb_chunks, passages, pipeline_over

PIECES = [
    ("Permiso de matrimonio", "Quien se casa libra quince jornadas seguidas, con aviso al taller."),
    ("Artículo 7. Teletrabajo", "El taller cierra en agosto. La prensa hidráulica se engrasa cada lunes."),
    ("Horario", "La prensa hidráulica hace ruido. El casco amarillo cuelga del gancho."),
    ("Averías", "El casco amarillo se lava. La prensa hidráulica avisa con una luz roja."),
    ("Jornada reducida de verano", "Del primero de julio al treinta de agosto se sale antes."),
]
LONG = "Por favor, dígame con detalle quién autoriza en Toledo"
"""The beginning of a long question; the texts have none of its words."""


@pytest.fixture
def handbook(settings: Settings) -> Pipeline:
    return pipeline_over(kb_chunks(PIECES), settings)


def ask(pipeline: Pipeline, question: str) -> RetrievalTrace:
    [trace] = pipeline.retrieve([question])
    return trace


@pytest.mark.parametrize(
    ("question", "notes"),
    [
        (f"{LONG} el permiso por boda", ("heading_match: Permiso de matrimonio",)),
        # "teletrbajo" and "teletrabajo" have 10 letters in common order: 2 x 10 / 21 = 0.95.
        (f"{LONG} el teletrbajo", ("fuzzy_heading: Teletrabajo",)),
        # As a whole: "hora" of "horas" and "horario", 2 x 4 / 12 = 0.67. As words that is less than 0.82.
        ("¿Horas?", ("fuzzy_heading: Horario",)),
        # 2 x 9 / 19 = 0.95, and no heading has the word. Its neighbours follow.
        (f"{LONG} la hidraulca", ("vocab: hidráulica", "cooc: prensa", "cooc: amarillo")),
        # The two words stand together three times.
        (f"{LONG} la prensa", ("vocab: prensa hidráulica", "cooc: amarillo")),
        (f"{LONG} la luz", ()),
    ],
)
def test_a_question_is_expanded_from_each_source_however_long_it_is(
    handbook: Pipeline, question: str, notes: tuple[str, ...]
) -> None:
    trace = ask(handbook, question)
    assert trace.expansion_notes == notes
    words = [note.partition(": ")[2] for note in notes]
    assert trace.query_expanded == (" ".join([question, *words]) if notes else "")


def test_whole_passages_expand_a_question_as_chunks_under_their_titles_do(
    handbook: Pipeline, settings: Settings
) -> None:
    corpus = pipeline_over(passages(PIECES), settings)
    assert (corpus.index.kb, handbook.index.kb is None) == (None, False)
    for question in (f"{LONG} el permiso por boda", f"{LONG} el teletrbajo", "¿Horas?", f"{LONG} la prensa"):
        assert ask(corpus, question).expansion_notes == ask(handbook, question).expansion_notes != ()


def test_headings_that_share_more_with_the_question_come_first(settings: Settings) -> None:
    headings = [f"Taller {name}" for name in "norte sur faro lago centro puerto monte valle cerro playa".split()]
    pieces = [(heading, f"Texto {number} sobre algo.") for number, heading in enumerate(headings)]
    pieces.append(("Taller playa grande", "Otro texto."))
    trace = ask(pipeline_over(kb_chunks(pieces), settings), "¿Qué hay en el taller de la playa?")
    # "Taller playa" adds nothing, because the question has both words. "Taller playa grande" shares two words with it,
    # the others one; they follow in the order of the text.
    expected = ["Taller playa grande", *headings[: MAX_ADDED - 1]]
    assert trace.expansion_notes == tuple(f"heading_match: {heading}" for heading in expected)


def test_the_switch_of_the_expansion_leaves_the_question_as_it_is(settings: Settings) -> None:
    plain = pipeline_over(kb_chunks(PIECES), settings, retrieval_expansion=False)
    assert ask(plain, f"{LONG} la prensa").query_expanded == ""


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("Artículo 7. Teletrabajo", "Teletrabajo"),
        ("3.1 Vacaciones", "Vacaciones"),
        ("Capítulo IV: Pagos", "Pagos"),
        ("Sección 2", "Sección 2"),
        ("Vacaciones de 2026", "Vacaciones de 2026"),
    ],
)
def test_the_number_of_a_heading_is_not_added(heading: str, words: str) -> None:
    assert without_label(heading) == words


@given(words=st.lists(st.sampled_from(" ".join(text for piece in PIECES for text in piece).split()), max_size=30))
def test_an_expansion_adds_eight_new_phrases_at_most_and_keeps_the_question(
    words: list[str], shared_handbook: Pipeline
) -> None:
    question = " ".join(words)
    trace = ask(shared_handbook, question)
    added = [note.partition(": ") for note in trace.expansion_notes]
    assert len(added) <= MAX_ADDED
    assert {source for source, _, _ in added} <= {"heading_match", "fuzzy_heading", "vocab", "cooc"}
    terms = shared_handbook.index.analyzer.terms
    known = set(terms(question))
    for _, _, phrase in added:
        assert not set(terms(phrase)) <= known
        known |= set(terms(phrase))
    assert not added or trace.query_expanded.startswith(question)


@pytest.fixture(scope="module")
def shared_handbook(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    return pipeline_over(kb_chunks(PIECES), load_settings(data_dir=tmp_path_factory.mktemp("data")))
