"""Further words from a language model: when it is asked, what they change, and what its failure does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.quality import debug_values
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.errors import (
    ChatbotError,
    NeedsLanguageModel,
    ProviderQuotaExhausted,
    ProviderUnavailable,
    RunError,
    RunStopped,
)
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.pipeline import Pipeline, fingerprint, growing_pipeline
from chatbot_mvp.retrieval.stages.llm_expansion import MAX_WORDS
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, last
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of, fake_app
from tests.raising import raises

CHUNKS = chunk_document(
    Document("kb", "kb", "# Descanso\n\nSon 23 días libres al año.\n\n# Dietas\n\nLa dieta es de 48 euros.")
)


def pipeline_of(settings: Settings, model: LanguageModel | None, language: str = "es") -> Pipeline:
    changed = settings.with_changes(retrieval_strategy="LEXICAL", query_expansion_llm=True)
    return last(growing_pipeline(CHUNKS, language, changed, FakeEmbedder, language_model=model))


def ask(settings: Settings, fake: FakeLanguageModel, query: str, language: str = "es") -> RetrievalTrace:
    return pipeline_of(settings, fake.model, language).retrieve([query])[0]


def notes(trace: RetrievalTrace) -> dict[str, object]:
    [record] = [record for record in trace.records if record.stage == "llm_expansion"]
    return dict(record.notes)


def test_a_word_of_the_model_finds_what_the_question_calls_otherwise(settings: Settings) -> None:
    trace = ask(settings, FakeLanguageModel(lambda _: "descanso, días libres"), "asueto")
    assert trace.chunks_final[0].chunk.section == "Descanso"
    assert trace.query_expanded == "asueto descanso días libres"
    assert trace.expansion_notes == ("llm: descanso", "llm: días", "llm: libres")
    assert notes(trace) == {"asked": True, "added": 3, "failed": 0}


@pytest.mark.parametrize(
    ("query", "asked"),
    [("asueto", True), ("el asueto de agosto", True), ("uno dos tres cuatro cinco", False), ("", False), ("¿?", False)],
)
def test_only_a_short_question_with_terms_is_asked_about(settings: Settings, query: str, asked: bool) -> None:
    fake = FakeLanguageModel(lambda _: "descanso")
    assert notes(ask(settings, fake, query))["asked"] is asked
    assert len(fake.prompts) == asked


def test_a_question_is_asked_about_once_in_each_language(settings: Settings) -> None:
    fake = FakeLanguageModel(lambda _: "descanso")
    for language in ("es", "es", "en", "en"):
        ask(settings, fake, "asueto", language)
    assert len(fake.prompts) == 2


@pytest.mark.parametrize("reply", ["", "asueto", ", ; .", "el de la"])
def test_a_reply_without_new_words_changes_nothing(settings: Settings, reply: str) -> None:
    trace = ask(settings, FakeLanguageModel(lambda _: reply), "asueto")
    assert (trace.query_expanded, trace.expansion_notes) == ("", ())


def test_a_reply_that_goes_on_is_cut(settings: Settings) -> None:
    trace = ask(settings, FakeLanguageModel(lambda _: " ".join(f"palabra{n}" for n in range(99))), "asueto")
    assert len(trace.expansion_notes) == MAX_WORDS


def test_a_failure_leaves_the_question_as_it_is_and_is_noted_with_its_reason(settings: Settings) -> None:
    def fail(_: str) -> str:
        raise ConnectionError("no route")

    trace = ask(settings, FakeLanguageModel(fail), "dieta")
    assert trace.chunks_final[0].chunk.section == "Dietas"
    assert trace.query_expanded == ""
    assert notes(trace) == {"asked": True, "added": 0, "failed": 1, "error": "no route", "quota_exhausted": False}
    assert debug_values(trace)["stage_errors"] == [{"stage": "llm_expansion", "error": "no route"}]


@pytest.mark.parametrize(
    "error", [RunStopped(run_id="r"), RunError("run_not_written", run_id="r", path="p", reason="disk full")]
)
def test_what_ends_a_run_is_not_taken_for_a_failed_expansion(settings: Settings, error: ChatbotError) -> None:
    def stop(_: str) -> str:
        raise error

    with pytest.raises(type(error)):
        ask(settings, FakeLanguageModel(stop), "dieta")


def app_of(settings: Settings, folder: Path, reply: Callable[[str], str]) -> App:
    """An App with query expansion, and a data set of two short questions and a long one."""
    corpus = [{"_id": "d1", "text": "El descanso anual."}, {"_id": "d2", "text": "La comida del jueves."}]
    questions = ["asueto", "descanso anual", "¿Qué se come los jueves en el comedor?"]
    queries = [{"_id": f"q{row}", "text": text, "metadata": {"answer": "x"}} for row, text in enumerate(questions)]
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td1\t1\nq1\td1\t1\nq2\td2\t1\n", "utf-8")
    changed = settings.with_changes(retrieval_strategy="LEXICAL", query_expansion_llm=True)
    fake = FakeLanguageModel(reply)
    return fake_app(changed, lambda _: FakeEmbedder(), DemoModel, lambda *_: fake.model)


def test_in_a_run_a_failed_expansion_fails_its_query_which_a_retry_does_again(
    settings: Settings, tmp_path: Path
) -> None:
    away = True

    def reply(prompt: str) -> str:
        if away and "asueto" in prompt:
            raise ProviderUnavailable(provider="nim", model="m", address="http://a", reason="no answer", tries=1)
        return "descanso"

    app = app_of(settings, tmp_path / "corto", reply)
    result = app.runs.run_now(mteb_dataset_name=str(tmp_path / "corto"))
    assert result.failures == {"retrieve": 1}
    lines = (app.settings.results_dir / result.run_id / "records.jsonl").read_text("utf-8").splitlines()
    [failed] = [record for record in map(json.loads, lines) if record["status"] == "failed"]
    assert failed["query_id"] == "q0"
    assert "no answer" in failed["error"]
    away = False
    retried = app.runs.resume_now(result.run_id, retry_failed=True)
    assert retried.failures == {}
    assert retried.metrics["recall@5"] == 1.0


def test_an_exhausted_quota_of_the_expansion_stops_a_run_and_what_was_done_stays(
    settings: Settings, tmp_path: Path
) -> None:
    spent = True

    def reply(prompt: str) -> str:
        if spent and "asueto" in prompt:
            raise ProviderQuotaExhausted(provider="nim", model="m", reason="no credit left")
        return "descanso"

    app = app_of(settings, tmp_path / "corto", reply)
    with raises("run_out_of_quota", match=r"2 of 3 queries.*no credit left"):
        app.runs.run_now(mteb_dataset_name=str(tmp_path / "corto"))
    [unfinished] = app.archive.unfinished()
    spent = False
    assert app.runs.resume_now(unfinished.run_id).failures == {}


def test_a_corpus_of_passages_is_searched_with_the_words_too(settings: Settings) -> None:
    changed = settings.with_changes(retrieval_strategy="LEXICAL", query_expansion_llm=True)
    corpus = chunks_of("El descanso anual.", "La comida del jueves.")
    model = FakeLanguageModel(lambda _: "descanso").model
    [trace] = last(growing_pipeline(corpus, "es", changed, FakeEmbedder, language_model=model)).retrieve(["asueto"])
    assert [hit.chunk.chunk_id for hit in trace.hits] == ["c000"]


def test_it_is_off_by_default_and_part_of_the_fingerprint(settings: Settings) -> None:
    assert settings.query_expansion_llm is False
    names: Callable[[Pipeline], list[str]] = lambda pipeline: [r.stage for r in pipeline.retrieve(["x"])[0].records]  # noqa: E731
    changed = settings.with_changes(retrieval_strategy="LEXICAL")
    assert "llm_expansion" not in names(last(growing_pipeline(CHUNKS, "es", changed, FakeEmbedder)))
    on = changed.with_changes(query_expansion_llm=True)
    assert fingerprint(on) != fingerprint(changed)


def test_without_a_language_model_it_says_so_before_anything_is_done(settings: Settings) -> None:
    with pytest.raises(NeedsLanguageModel) as raised:
        pipeline_of(settings, None)
    assert "QUERY_EXPANSION_LLM" in str(raised.value)
