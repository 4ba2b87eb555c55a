"""Answers without a language model are as good as the retrieval that they quote from."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from chatbot_mvp.evaluation.kb.questions import load_questions, places_of
from chatbot_mvp.llm.base import ChatRequest, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.fakes import FakeEmbedder, fake_app

SAMPLES = PROJECT_ROOT / "data" / "samples"


def contains(rows: Sequence[QueryRow]) -> float:
    """Return the share of the answers that contain the reference, of the questions for which that is scored."""
    return mean(value for row in rows if (value := row.metrics.get("answer_contains")) is not None)


def test_better_retrieval_gives_better_answers_without_a_model(settings: Settings) -> None:
    """On each half of the sample's questions of two hops, more than half of the answers contain the reference.

    The constants of ``chatbot_mvp/llm/extractive`` were set on even rows and checked on the odd ones.
    """
    found = {}
    for strategy in ("LEXICAL", "BRIDGE"):
        changes = {"retrieval_strategy": strategy, "mteb_dataset_name": "valle_multihop", "eval_max_queries": 0}
        app = fake_app(settings.with_changes(**changes, generation_enabled=True), lambda _: FakeEmbedder(), DemoModel)
        found[strategy] = app.runs.run_now().per_query
    for half in (slice(0, None, 2), slice(1, None, 2)):
        rows = found["BRIDGE"][half]
        assert contains(rows) >= 0.6
        assert contains(rows) > contains(found["LEXICAL"][half])
        lengths = [len(row.response or "") for row in rows]
        assert mean(lengths) < 192  # a third more than plain sentences with words of the question


def test_answers_without_a_model_rest_on_the_expected_paragraph(settings: Settings) -> None:
    kb = next((SAMPLES / "kb").glob("*.md"))
    app = fake_app(settings.with_changes(retrieval_strategy="BRIDGE"), lambda _: FakeEmbedder(), DemoModel)
    record = app.kbs.add(kb.name, kb.read_bytes())
    text = app.kbs.document(record.kb_id).text
    questions = [one for one in load_questions(SAMPLES / "kb" / "preguntas.jsonl") if one.kind in (None, "answerable")]
    inside = []
    for question in questions:
        [trace] = app.kbs.pipeline(record.kb_id).retrieve([question.question])
        passages = tuple(hit.chunk for hit in trace.chunks_final)
        asked = ChatRequest((), grounding=Grounding(question.question, passages, record.language))
        starts = [
            (passages[quote.number - 1].start + quote.start, passages[quote.number - 1].start + quote.end)
            for quote in DemoModel().complete(asked).quotes or ()
        ]
        places = places_of(text, question.paragraph)
        inside.append(any(start < end and stop > begin for start, stop in starts for begin, end in places))
    assert mean(inside) >= 0.6
