"""Further words from a language model: when it is asked, what they change, and what its failure does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.errors import NeedsLanguageModel
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.pipeline import Pipeline, build_pipeline, fingerprint, retrieval_config
from chatbot_mvp.retrieval.stages.llm_expansion import MAX_WORDS
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of

CHUNKS = chunk_document(
    Document("kb", "kb", "# Descanso\n\nSon 23 días libres al año.\n\n# Dietas\n\nLa dieta es de 48 euros.")
)


def pipeline_of(settings: Settings, model: LanguageModel | None, language: str = "es") -> Pipeline:
    changed = settings.with_changes(retrieval_strategy="LEXICAL", query_expansion_llm=True)
    return build_pipeline(CHUNKS, language, changed, FakeEmbedder, language_model=model)


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


def test_a_failure_leaves_the_question_as_it_is_and_is_counted(settings: Settings) -> None:
    def fail(_: str) -> str:
        raise ConnectionError("no route")

    trace = ask(settings, FakeLanguageModel(fail), "dieta")
    assert trace.chunks_final[0].chunk.section == "Dietas"
    assert trace.query_expanded == ""
    assert notes(trace) == {"asked": True, "added": 0, "failed": 1, "error": "no route"}


def test_a_corpus_of_passages_is_searched_with_the_words_too(settings: Settings) -> None:
    changed = settings.with_changes(retrieval_strategy="LEXICAL", query_expansion_llm=True)
    corpus = chunks_of("El descanso anual.", "La comida del jueves.")
    model = FakeLanguageModel(lambda _: "descanso").model
    [trace] = build_pipeline(corpus, "es", changed, FakeEmbedder, language_model=model).retrieve(["asueto"])
    assert [hit.chunk.chunk_id for hit in trace.hits] == ["c000"]


def test_it_is_off_by_default_and_part_of_the_fingerprint(settings: Settings) -> None:
    assert settings.query_expansion_llm is False
    names: Callable[[Pipeline], list[str]] = lambda pipeline: [r.stage for r in pipeline.retrieve(["x"])[0].records]  # noqa: E731
    changed = settings.with_changes(retrieval_strategy="LEXICAL")
    assert "llm_expansion" not in names(build_pipeline(CHUNKS, "es", changed, FakeEmbedder))
    on = retrieval_config(changed.with_changes(query_expansion_llm=True))
    assert fingerprint(on) != fingerprint(retrieval_config(changed))


def test_without_a_language_model_it_says_so_before_anything_is_done(settings: Settings) -> None:
    with pytest.raises(NeedsLanguageModel) as raised:
        pipeline_of(settings, None)
    assert "QUERY_EXPANSION_LLM" in str(raised.value)
