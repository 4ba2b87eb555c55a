"""A question that names a record by its number finds that record, however large the knowledge base is."""

from __future__ import annotations

import random
from functools import cache

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk

RECORDS = range(1_000, 2_200)
WORDS = "informe contrato obra licencia vecino recurso plazo multa permiso fachada registro parcela pago fianza".split()


@cache
def _body(number: int) -> str:
    """Years and amounts are numbers of other records, too."""
    rng = random.Random(number)
    words = [rng.choice(WORDS) for _ in range(6)]
    return (
        f"Se abrió el {rng.randint(1, 28)} de marzo de {rng.randint(1990, 2024)} por {words[0]} de {words[1]}, con "
        f"importe de {rng.randint(100, 9_999)} euros. El {words[2]} quedó pendiente de {words[3]} hasta la {words[4]}. "
        f"Está relacionado con el expediente {rng.choice(RECORDS)}."
    )


LAYOUTS = {
    "paragraphs": ("# Registro\n\n", "El expediente {n} trata de lo siguiente. {body}", "\n\n"),
    "lines": ("# Registro\n\n", "Expediente {n}: {body}", "\n"),
    "running text": ("", "Expediente {n}. {body}", " "),
    "headings": ("# Registro\n\n", "## Expediente {n}\n\n{body}", "\n\n"),
    "list": ("# Registro\n\n", "- Expediente EXP-7/{n}: {body}", "\n"),
}
QUESTIONS = (
    "expediente {}",
    "¿Qué dice el expediente {}?",
    "¿De qué trata el expediente número {} del registro y cuánto se pagó?",
    "dame información del expedinte {}",  # with a spelling mistake
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["LEXICAL", "BRIDGE"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_record_named_by_its_number_is_among_the_first_five(settings: Settings, layout: str, strategy: str) -> None:
    before, line, between = LAYOUTS[layout]
    text = before + between.join(line.format(n=number, body=_body(number)) for number in RECORDS)
    assert len(text) > 200_000
    app = build_app(settings.with_changes(retrieval_strategy=strategy))
    pipeline = app.kbs.pipeline(app.kbs.add("registro.md", text.encode()).kb_id)
    asked = [(template, number) for number in random.Random(1).sample(RECORDS, 8) for template in QUESTIONS]
    lost = [
        (template, number)
        for template, number in asked
        if not any(_body(number)[:60] in chunk.text for chunk in _found(pipeline, template.format(number))[:5])
    ]
    assert not lost


def test_strict_mode_answers_about_a_record_that_is_named(settings: Settings) -> None:
    text = "# Registro\n\n" + "\n\n".join(f"El expediente {n} trata de un asunto. {_body(n)}" for n in RECORDS)
    app = build_app(settings.with_changes(retrieval_strategy="BRIDGE"))
    pipeline = app.kbs.pipeline(app.kbs.add("registro.md", text.encode()).kb_id)
    [named] = pipeline.retrieve(["¿Qué dice el expediente 1234?"])
    [absent] = pipeline.retrieve(["¿Qué dice el expediente 9876?"])
    [other] = pipeline.retrieve(["¿Cuántas ballenas nadan en el mar del expediente 1234?"])
    assert (named.evidence or 0) >= app.settings.kb_min_evidence
    assert (absent.evidence or 0) < app.settings.kb_min_evidence
    assert (other.evidence or 0) < app.settings.kb_min_evidence


def test_years_of_a_text_about_something_else_name_no_record(settings: Settings) -> None:
    sentences = (
        f"La ciudad creció despacio y en {year} abrió su {year % 7}.ª escuela nueva." for year in range(1900, 2000)
    )
    text = "# Historia\n\n" + "\n\n".join(sentences)
    app = build_app(settings.with_changes(retrieval_strategy="LEXICAL"))
    pipeline = app.kbs.pipeline(app.kbs.add("historia.md", text.encode()).kb_id)
    [trace] = pipeline.retrieve(["¿Qué escuela abrió la ciudad en 1950?"])
    [notes] = [record.notes for record in trace.records if record.stage == "exact"]
    assert notes["records"] == 0


def _found(pipeline: Pipeline, question: str) -> list[Chunk]:
    [trace] = pipeline.retrieve([question])
    return [hit.chunk for hit in trace.chunks_final]
