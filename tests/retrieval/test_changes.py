"""An index made from an earlier one is equal to one that is built at once from the same documents."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from benchmarks.random_vectors import RandomTokens, RandomVectors
from chatbot_mvp.documents.chunked_files import ChunkedFiles
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.languages import MixedAnalyzer
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.splicing import GONE
from chatbot_mvp.retrieval.stages.kb_chat.words import FlatWords
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import last
from tests.cases import batches
from tests.retrieval.changes import (
    OPERATIONS,
    Documents,
    changed,
    chunks_of,
    document,
    facts,
    questions_of,
    short_documents,
    traces_of,
)

STEPS = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 9), st.integers(0, 399)), min_size=1, max_size=6)
BY_WORDS, BY_VECTORS = ("LEXICAL", "BRIDGE", "KB_CHAT"), ("SIMPLE_VECTOR", "HYBRID", "BRIDGE_HYBRID")
_PER_BATCH = 25
"""Sequences of changes in a batch. Each batch has a seed, because Hypothesis gives every batch the same otherwise."""
_numbers = itertools.count()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("changes")


def source_of(index: CorpusIndex) -> ChunkedFiles | None:
    return index.kb.source if index.kb is not None else None


def configured(data: Path, strategy: str) -> Settings:
    return load_settings(data_dir=data / str(next(_numbers)), retrieval_strategy=strategy, vector_store="exact")


def start(batch: int, first: int) -> Documents:
    if first % 7 == 6:
        return short_documents(first, 11)
    return [(f"Parte {number}.md", document(1_000 * batch + first + number)) for number in range(first % 6)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("batch", batches(80))
def test_the_words_after_any_changes_are_those_of_the_documents_indexed_at_once(data: Path, batch: int) -> None:
    configs = {strategy: configured(data, strategy) for strategy in BY_WORDS}

    def pipeline(chunks: ChunkedFiles, strategy: str, earlier: Pipeline | None) -> Pipeline:
        config = configs[strategy]
        return last(growing_pipeline(chunks, "es", config, RandomVectors, kb_id="kb", earlier=earlier))

    @seeded(batch)
    @settings(max_examples=_PER_BATCH)
    @given(STEPS, st.integers(0, 399))
    def check(steps: list[tuple[str, int, int]], first: int) -> None:
        documents = start(batch, first)
        now = {strategy: pipeline(chunks_of(documents), strategy, None) for strategy in BY_WORDS}
        for number, (operation, place, seed) in enumerate(steps):
            documents = changed(documents, operation, place, 1_000 * batch + seed)
            questions = questions_of(1_000 * batch + seed + number, 3)
            at_once = chunks_of(documents)
            for strategy in BY_WORDS:
                chunks = chunks_of(documents, source_of(now[strategy].index))
                assert chunks == at_once
                now[strategy] = pipeline(chunks, strategy, now[strategy])
                other = pipeline(at_once, strategy, None)
                assert traces_of(now[strategy], questions) == traces_of(other, questions), strategy
            for (name, found), (_, expected) in zip(
                facts(now["LEXICAL"].index, questions), facts(other.index, questions), strict=True
            ):
                assert found == expected, name

    check()


def test_a_word_that_no_text_had_comes_back_with_the_term_that_it_has_now() -> None:
    first = FlatWords([[("garantía", "garantia")], [("dieta", "diet")]], np.array([GONE, GONE]))
    without = FlatWords([], np.array([1]), first)
    back = FlatWords([[("garantía", "garant")]], np.array([GONE, 0]), without)
    names = list(back.terms)
    assert [(word, names[number]) for word, _, number in back.by_occurrence()] == [
        ("garantía", "garant"),
        ("dieta", "diet"),
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batch", batches(10))
@pytest.mark.parametrize("strategy", BY_VECTORS)
def test_traces_with_vectors_after_any_changes_are_those_of_the_documents_at_once(
    data: Path, batch: int, strategy: str
) -> None:
    config = configured(data, strategy)
    model = RandomTokens if batch % 2 else RandomVectors

    def pipeline(chunks: ChunkedFiles, earlier: Pipeline | None) -> Pipeline:
        return last(growing_pipeline(chunks, "es", config, model, kb_id="kb", earlier=earlier))

    @seeded(batch)
    @settings(max_examples=5)
    @given(STEPS, st.integers(0, 399))
    def check(steps: list[tuple[str, int, int]], first: int) -> None:
        documents = start(batch, first)
        now = pipeline(chunks_of(documents), None)
        for operation, place, seed in steps:
            documents = changed(documents, operation, place, 1_000 * batch + seed)
            questions = questions_of(1_000 * batch + seed, 3)
            now = pipeline(chunks_of(documents, source_of(now.index)), now)
            other = pipeline(chunks_of(documents), None)
            assert traces_of(now, questions) == traces_of(other, questions)

    check()


@pytest.mark.parametrize(
    ("strategy", "mixed", "row"),
    [("LEXICAL", False, 7), ("LEXICAL", True, 7), ("LEXICAL", False, 0), ("KB_CHAT", False, 7)],
)
def test_only_the_changed_document_is_read_again(
    data: Path, monkeypatch: pytest.MonkeyPatch, strategy: str, mixed: bool, row: int
) -> None:
    config = configured(data, strategy)
    texts = [f"# Sección {n}\n\n" + f"La energía del taller {n} es de los motores número{n}. " * 9 for n in range(40)]
    if mixed:
        english = "The warranty of the engine and of the oven is in this file, item{}. "
        texts[1:20:2] = [f"# Section {n}\n\n" + english.format(n) * 9 for n in range(10)]
    documents = [(f"{n}.md", text) for n, text in enumerate(texts)]
    before = next(growing_pipeline(chunks_of(documents), "es", config, RandomVectors, kb_id="kb"))
    assert len(before.index.analyzer.languages) == 1 + mixed
    # The name of the first document is the title of all.
    documents[row] = (f"n{row}.md", documents[row][1].replace("item", "piece").replace("número", "pieza"))
    chunks = chunks_of(documents, source_of(before.index))
    read: list[str] = []

    def noted(kind: type[Analyzer], name: str) -> None:
        function = getattr(kind, name)
        monkeypatch.setattr(kind, name, lambda self, text: [read.append(text), function(self, text)][1])

    for kind in (Analyzer, MixedAnalyzer):
        noted(kind, "content_words")
        noted(kind, "terms")
    after = next(growing_pipeline(chunks, "es", config, RandomVectors, kb_id="kb", earlier=before))
    monkeypatch.undo()
    length = len(documents[row][1])
    assert length < sum(map(len, read)) < 6 * length
    [trace] = after.retrieve(["piece3" if mixed else f"pieza{row}"])
    assert trace.hits[0].chunk.section.startswith(f"n{row} > ")
