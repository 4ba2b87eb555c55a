"""Contextual enrichment: what is asked, what is indexed, what is returned, and what a stopped run keeps."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.errors import NeedsLanguageModel, RunStopped
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.indexes.enrichment import (
    CONTEXT_CHARS,
    DOCUMENT_CHARS,
    ContextCache,
    enrich,
    enrichment_prompts,
    missing_prompts,
    tidy_context,
)
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.retrieval.prompting import PROMPTS
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import LANGUAGES
from chatbot_mvp.types import Chunk, Document, Progress, last
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of, fake_app

TEXT = """# Guía del valle

## El puente

Lo levantaron en 1712 con piedra de la cantera.

## El molino

Muele trigo desde entonces.
"""
CHUNKS = chunk_document(Document("guia", "Guía", TEXT))
PASSAGE = Chunk("p", "p", "Faro de Orzama", "Es rojo y alto.", 0, 15)


@pytest.fixture
def cache(tmp_path: Path) -> ContextCache:
    return ContextCache(tmp_path / "cache" / "contexts.sqlite")


def test_a_chunk_of_several_is_shown_with_its_document_and_a_lone_one_with_its_title() -> None:
    in_document, _, from_title = enrichment_prompts([*CHUNKS, PASSAGE], "es")
    assert "1712" in in_document
    assert "Muele trigo" in in_document
    assert in_document.startswith("Documento:")
    assert "El puente" in in_document
    assert all(part in from_title for part in ("título", "\nFaro de Orzama\n", PASSAGE.text))
    assert "Documento:" not in from_title
    assert "Muele trigo" not in from_title


def test_the_document_is_put_together_from_its_chunks_without_repeating_what_they_share() -> None:
    paragraphs = [f"Párrafo {n}: " + "palabra " * 25 + "." for n in range(16)]
    document = Document("d", "D", "\n\n".join(paragraphs))
    chunks = chunk_document(document)
    assert sum(len(chunk.text) for chunk in chunks) > len(document.text), "chunks share text"
    [first, *_] = enrichment_prompts(chunks, "es")
    shown = first.split("\n</datos-")[0].split("\n", 2)[2].strip()
    assert shown == document.text.strip()


def test_of_a_long_document_the_part_around_the_chunk_is_shown() -> None:
    paragraphs = [f"Párrafo número {n}. " + "palabra " * 100 for n in range(100)]
    chunks = chunk_document(Document("d", "D", "\n\n".join(paragraphs)))
    for chunk, prompt in zip(chunks, enrichment_prompts(chunks, "es"), strict=True):
        shown = prompt.split("\n</datos-")[0].split("\n", 2)[2]
        assert len(shown) <= DOCUMENT_CHARS + 2
        assert chunk.text.strip() in shown


@pytest.mark.parametrize("language", [*LANGUAGES, "fr"])
def test_every_language_has_the_same_prompts_with_the_same_places_to_fill(language: str) -> None:
    values = {"document": "<1>", "section": "<2>", "chunk": "<3>", "question": "<4>", "fence": "<5>"}
    assert PROMPTS.texts(language).keys() == PROMPTS.texts("es").keys()
    for name, template in PROMPTS.texts(language).items():
        filled = template.format(**values)
        expected = PROMPTS.texts("es")[name].format(**values)
        assert {value for value in values.values() if value in filled} == {v for v in values.values() if v in expected}


def test_braces_in_a_document_are_text() -> None:
    [prompt] = enrichment_prompts([replace(PASSAGE, text="{chunk} {0} {nada}", section="{x}")], "es")
    assert "{chunk} {0} {nada}" in prompt
    assert "\n{x}\n" in prompt


def test_the_context_stands_before_the_text_and_the_offsets_stay(cache: ContextCache) -> None:
    fake = FakeLanguageModel(lambda prompt: " El faro\nde Orzama. ")
    [enriched] = enrich([PASSAGE], "es", fake.model, cache, 8)
    assert enriched == replace(PASSAGE, text="El faro de Orzama.\nEs rojo y alto.")
    assert enriched.index_text == "Faro de Orzama\nEl faro de Orzama.\nEs rojo y alto."


@pytest.mark.parametrize(
    ("reply", "context"),
    [
        ("  a\n\n b\t", "a b"),
        ("", ""),
        ("\n", ""),
        ("x" * 700, "x" * CONTEXT_CHARS),
        ("palabra " * 100, ("palabra " * 75).strip()),
        ("a\ud800b", "a?b"),
    ],
)
def test_a_reply_becomes_one_line_of_at_most_600_characters(reply: str, context: str) -> None:
    assert tidy_context(reply) == context


def test_another_length_of_contexts_is_another_context(tmp_path: Path) -> None:
    model = FakeLanguageModel(lambda _: "palabra " * 100)
    cache = ContextCache(tmp_path / "contexts.sqlite")
    [long] = cache.contexts(model.model, ["p"], 8)
    [short] = cache.contexts(model.model, ["p"], 8, max_chars=40)
    assert (len(long), short) == (599, "palabra palabra palabra palabra palabra")
    assert cache.contexts(model.model, ["p"], 8) == [long]


def test_an_empty_reply_leaves_the_chunk_as_it_is_and_is_asked_again_next_time(cache: ContextCache) -> None:
    silent = FakeLanguageModel(lambda _: " ")
    assert enrich([PASSAGE], "es", silent.model, cache, 8) == [PASSAGE]
    assert enrich([PASSAGE], "es", FakeLanguageModel(lambda _: "El faro.").model, cache, 8) != [PASSAGE]


def test_nothing_is_asked_twice_under_one_model_and_all_of_it_under_another(cache: ContextCache) -> None:
    chunks = chunks_of(*[f"texto {n}" for n in range(20)], "texto 0")
    chunks = [replace(chunk, section="S") for chunk in chunks]
    fake = FakeLanguageModel()
    first = enrich(chunks, "es", fake.model, cache, 8)
    assert len(fake.prompts) == 20, "the repeated text once"
    assert enrich(chunks, "es", fake.model, cache, 3) == first
    assert len(fake.prompts) == 20
    enrich(chunks, "es", LanguageModel("other", fake.ask), cache, 8)
    assert len(fake.prompts) == 40


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    chunks = chunks_of(*[f"texto {n}" for n in range(10)])
    fake = FakeLanguageModel()

    def stop(progress: Progress) -> None:
        if progress.done >= 6:
            raise RunStopped(run_id="x")

    with pytest.raises(RunStopped):
        enrich(chunks, "es", fake.model, ContextCache(tmp_path / "c.sqlite"), 3, stop)
    assert len(fake.prompts) == 6
    seen: list[Progress] = []
    enrich(chunks, "es", fake.model, ContextCache(tmp_path / "c.sqlite"), 3, seen.append)
    assert len(fake.prompts) == 10
    assert [(progress.phase, progress.done, progress.total) for progress in seen] == [
        ("enrich", 6, 10),
        ("enrich", 9, 10),
        ("enrich", 10, 10),
    ]
    assert seen[0].done_before == 6


def test_a_failed_call_is_told_and_the_other_replies_of_its_batch_are_kept(cache: ContextCache) -> None:
    chunks = chunks_of(*[f"texto {n}" for n in range(6)])

    def reply(prompt: str) -> str:
        if "texto 2" in prompt:
            raise TimeoutError("late")
        return "bien"

    failing, working = FakeLanguageModel(reply), FakeLanguageModel()
    with pytest.raises(TimeoutError, match="late"):
        enrich(chunks, "es", failing.model, cache, 4)
    enrich(chunks, "es", working.model, cache, 4)
    assert len(working.prompts) == 3
    assert "texto 2" in working.prompts[0]


def test_a_batch_is_asked_at_the_same_time(cache: ContextCache) -> None:
    together = threading.Barrier(4, timeout=10)

    def reply(_: str) -> str:
        together.wait()
        return "bien"

    assert len(enrich(chunks_of("a", "b", "c", "d"), "es", LanguageModel("fake", reply), cache, 4)) == 4


def contextual(settings: Settings, fake: FakeLanguageModel, chunks: list[Chunk], embedder: FakeEmbedder):  # type: ignore[no-untyped-def]
    changed = settings.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID")
    return last(growing_pipeline(chunks, "es", changed, lambda: embedder, language_model=fake.model))


def test_a_word_of_the_context_alone_finds_the_chunk_and_the_original_text_is_returned(settings: Settings) -> None:
    fake = FakeLanguageModel(
        lambda prompt: "Trata del viaducto." if "1712" in prompt.split("Fragmento de ese")[1] else "–"
    )
    embedder = FakeEmbedder()
    pipeline = contextual(settings, fake, CHUNKS, embedder)
    trace = pipeline.retrieve(["viaducto"])[0]
    assert [hit.chunk for hit in trace.candidates["bm25"]] == [CHUNKS[0]]
    assert trace.chunks_final[0].chunk == CHUNKS[0]
    assert TEXT[CHUNKS[0].start : CHUNKS[0].end] == trace.chunks_final[0].chunk.text
    assert any("viaducto" in text for text in embedder.embedded), "the vectors are of the enriched text"
    plain = last(growing_pipeline(CHUNKS, "es", settings.with_changes(retrieval_strategy="LEXICAL"), FakeEmbedder))
    assert plain.retrieve(["viaducto"])[0].hits == ()


def test_a_knowledge_base_is_enriched_once_and_another_context_makes_another_index(settings: Settings) -> None:
    first = FakeLanguageModel(lambda _: "Sobre el viaducto.")
    for _ in range(2):
        contextual(settings, first, CHUNKS, FakeEmbedder())
    assert len(first.prompts) == len(CHUNKS)
    other = FakeLanguageModel(lambda _: "Sobre la pasarela.")
    other_model = LanguageModel("other", other.ask)
    changed = settings.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID")
    pipeline = last(growing_pipeline(CHUNKS, "es", changed, FakeEmbedder, language_model=other_model))
    assert pipeline.retrieve(["viaducto"])[0].candidates["bm25"] == ()
    assert len(pipeline.retrieve(["pasarela"])[0].candidates["bm25"]) == len(CHUNKS)


def test_a_knowledge_base_with_contexts_is_ranked_by_its_paragraphs_all_the_same(settings: Settings) -> None:
    """The context counts like a heading: it finds the paragraph, and every signal of a KB is there."""
    fake = FakeLanguageModel(
        lambda prompt: "Trata del viaducto." if "1712" in prompt.split("Fragmento de ese")[1] else "–"
    )
    pipeline = contextual(settings, fake, CHUNKS, FakeEmbedder())
    [trace] = pipeline.retrieve(["¿Cuándo levantaron el viaducto?"])
    assert trace.hits[0].chunk == CHUNKS[0]
    assert {"bm25_norm", "overlap_norm", "fuzzy_bonus", "vector_norm"} <= trace.hits[0].signals.keys()
    assert pipeline.index.kb is not None
    assert list(pipeline.index.kb.contexts) == ["Trata del viaducto.", "–"]
    misspelt = pipeline.retrieve(["viadutco"])[0]
    assert misspelt.expansion_notes == ("vocab: viaducto",)


def test_the_pieces_of_one_paragraph_share_their_contexts(settings: Settings) -> None:
    long = " ".join(f"La norma {number} del taller habla de la pieza {number}." for number in range(70))
    chunks = chunk_document(Document("d", "D", f"# Normas\n\n{long}"))
    assert len(chunks) > 1
    replies = iter([f"Contexto{number}." for number in range(len(chunks))])
    fake = FakeLanguageModel(lambda _: next(replies))
    pipeline = contextual(settings.with_changes(retrieval_context_batch_size=1), fake, chunks, FakeEmbedder())
    [trace] = pipeline.retrieve(["contexto1"])
    assert trace.chunks_final[0].chunk.text.endswith(long[-40:])
    assert "Contexto1" not in trace.chunks_final[0].chunk.text


def test_without_a_language_model_the_strategy_fails_before_anything_is_done(settings: Settings) -> None:
    made: list[FakeEmbedder] = []
    app = fake_app(settings, lambda _: made.append(FakeEmbedder()) or made[-1], DemoModel)  # type: ignore[func-returns-value]
    for start in (app.runs.run_now, app.runs.start_run):
        with pytest.raises(NeedsLanguageModel) as raised:
            start(retrieval_strategy="CONTEXTUAL_HYBRID")
        assert "CONTEXTUAL_HYBRID" in str(raised.value)
        assert "'demo'" in str(raised.value)
        assert raised.value.exit_code == 2
    record = app.kbs.add_sample()
    chat = fake_app(settings.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID"), app.embedders.get, DemoModel)
    with pytest.raises(NeedsLanguageModel):
        chat.kbs.pipeline(record.kb_id)
    assert made == []
    assert not settings.results_dir.exists()
    assert not settings.cache_dir.exists()


def shown_document(prompt: str) -> str:
    return prompt.split("\n</datos-")[0].split("\n", 2)[2]


def test_text_between_chunks_is_shown_as_line_breaks_so_that_every_character_keeps_its_place() -> None:
    pieces = [("uno", 2), ("dos y tres", 8), ("tres", 14), ("cuatro", 25)]
    chunks = [Chunk(f"c{n}", "d", "S", text, start, start + len(text)) for n, (text, start) in enumerate(pieces)]
    for order in (chunks, chunks[::-1]):
        for prompt in enrichment_prompts(order, "es"):
            assert shown_document(prompt) == "uno\n\n\ndos y tres\n\n\n\n\n\n\ncuatro"


def test_the_part_of_a_long_document_is_as_long_before_the_chunk_as_behind_it() -> None:
    text = "".join(f"{n:05d} " for n in range(5_000))
    chunks = [Chunk(f"c{n}", "d", "S", text[n : n + 600], n, n + 600) for n in range(0, len(text), 600)]
    first, *_, last_one = prompts = list(enrichment_prompts(chunks, "es"))
    assert shown_document(first) == text[:DOCUMENT_CHARS].strip()
    assert shown_document(last_one) == text[-DOCUMENT_CHARS:].strip()
    at = len(chunks) // 2
    begin = (chunks[at].start + chunks[at].end - DOCUMENT_CHARS) // 2
    assert shown_document(prompts[at]) == text[begin : begin + DOCUMENT_CHARS].strip()


def test_an_estimate_counts_the_prompts_that_the_build_would_send_and_writes_nothing(tmp_path: Path) -> None:
    chunks = [replace(chunk, section="S") for chunk in chunks_of("uno", "dos", "uno")]
    path, fake = tmp_path / "contexts.sqlite", FakeLanguageModel()
    distinct = list(enrichment_prompts(chunks, "es"))[:2]
    assert missing_prompts(chunks, "es", fake.model.name, path) == distinct
    assert not path.exists()
    enrich(chunks, "es", fake.model, ContextCache(path), 1)
    assert missing_prompts(chunks, "es", fake.model.name, path) == []
    assert missing_prompts(chunks, "es", "other", path) == distinct
    assert missing_prompts(chunks, "es", fake.model.name, path, max_tokens=20) == distinct
    enrich(chunks[:1], "es", fake.model, ContextCache(path), 1, max_tokens=20)
    assert missing_prompts(chunks, "es", fake.model.name, path, max_tokens=20) == distinct[1:]


def test_a_name_is_computed_once_and_its_text_may_be_empty(tmp_path: Path) -> None:
    computed: list[str] = []

    def compute() -> str:
        computed.append("x")
        return ""

    assert [ContextCache(tmp_path / "c.sqlite").remembered("name", compute) for _ in range(2)] == ["", ""]
    assert len(computed) == 1


def test_the_first_failure_of_a_batch_is_the_one_that_is_raised(cache: ContextCache) -> None:
    def reply(prompt: str) -> str:
        raise TimeoutError("first" if "texto 0" in prompt else "other")

    with pytest.raises(TimeoutError, match="first"):
        enrich(chunks_of("texto 0", "texto 1", "texto 2"), "es", FakeLanguageModel(reply).model, cache, 3)


def test_no_more_than_eight_calls_are_under_way_and_unusable_replies_count_as_failed(cache: ContextCache) -> None:
    lock, running, most = threading.Lock(), 0, 0

    def reply(prompt: str) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.005)
        with lock:
            running -= 1
        return "" if "texto 3" in prompt else "bien"

    seen: list[Progress] = []
    cache.contexts(LanguageModel("fake", reply), [f"texto {n}." for n in range(20)], 20, seen.append)
    assert 1 < most <= 8
    assert [(p.phase, p.done, p.total, p.failed) for p in seen] == [("enrich", 0, 20, 0), ("enrich", 20, 20, 1)]


def test_the_settings_limit_the_length_of_a_context_and_the_prompts_between_two_commits(settings: Settings) -> None:
    fake = FakeLanguageModel(lambda _: "palabra " * 100)
    chunks = [Chunk(f"c{number}", f"d{number}", "", f"Texto {number}.", 0, 8) for number in range(5)]
    told: list[int] = []
    limited = settings.with_changes(
        retrieval_strategy="CONTEXTUAL_RRF", retrieval_context_max_tokens=10, retrieval_context_batch_size=2
    )
    pipeline = last(
        growing_pipeline(
            chunks,
            "es",
            limited,
            FakeEmbedder,
            lambda progress: told.append(progress.done) if progress.phase == "enrich" else None,
            language_model=fake.model,
        )
    )
    assert told == [0, 2, 4, 5]
    cached = ContextCache(limited.contexts_path).cached(fake.model.name, fake.prompts, max_chars=40)
    assert {len(context) for context in cached} == {39}, "whole words of 10 tokens of 4 characters"
    assert pipeline.config.retrieval_context_max_tokens == 10
