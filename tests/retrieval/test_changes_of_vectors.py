"""After any changes of its documents, a knowledge base's vectors find what those of one built at once find."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.random_vectors import RandomTokens, RandomVectors
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.indexes import chroma_connection
from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.keeping import keep_rows
from chatbot_mvp.retrieval.indexes.vector_store import StoreKind, VectorStoreChoice
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import Document, last
from tests.cases import batches

pytestmark = pytest.mark.xdist_group("chroma")  # one worker, because starting it takes seconds

WORDS = "bomba válvula torno horno llave ruta dieta firma archivo nómina taller motor de la el los con por en".split()
STRATEGIES = ("HYBRID", "BRIDGE_HYBRID", "KB_CHAT", "SIMPLE_VECTOR", "LEXICAL")
OF_LINKS = ("BRIDGE_HYBRID", "BRIDGE")
PER_BATCH = 4
"""Sequences of changes in a batch. Each batch has a seed, because Hypothesis gives every batch the same otherwise."""
PHASES = (Phase.generate,)
"""A sequence that fails is short as it is; to look for a shorter one takes minutes."""
STEPS = st.lists(
    st.tuples(st.sampled_from(("add", "replace", "remove", "move", "edit", "copy")), st.integers(0, 9)),
    min_size=2,
    max_size=5,
)
_numbers = itertools.count()


def text(number: int, short: bool) -> str:
    """A document of up to three sections; if ``short``, one of one sentence."""
    draw = random.Random(number)

    def sentence() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(3, 9))).capitalize() + "."

    if short:
        return f"# Pieza {number}\n\n{sentence()}"
    parts = [f"# {draw.choice(WORDS)} {number % 5}"]
    for _ in range(draw.randint(0, 3)):
        parts += [f"## {draw.choice(WORDS)}", *(" ".join(sentence() for _ in range(draw.randint(1, 4))) for _ in "ab")]
    return "\n\n".join(parts)


def changed(documents: list[str], operation: str, number: int, short: bool) -> list[str]:
    found, at = list(documents), number % max(1, len(documents))
    if operation == "add" or len(documents) < 2:
        found.insert(at, text(100 + number, short))
    elif operation == "replace":
        found[at] = text(100 + number, short)
    elif operation == "remove":
        del found[at]
    elif operation == "move":
        found.insert(number // 2, found.pop(at))
    elif operation == "edit":
        found[at] += " Y además la llave."
    else:
        found.append(found[at])
    return found


@dataclass(frozen=True)
class Place:
    """Where rows of knowledge bases are, and how those that no version needs are deleted."""

    of: Callable[[str], VectorStoreChoice]
    """Owner -> the store of its rows."""
    keep: Callable[[CorpusIndex], None] = lambda _: None
    """Deletes what one index of the owner "kb" does not search."""
    adds_again: bool = True
    """Whether an index whose rows were deleted adds them again; else it says that they are gone."""


def in_files(kind: StoreKind, folder: Path) -> Place:
    config = load_settings(data_dir=folder)
    return Place(
        lambda owner: VectorStoreChoice(kind, owner, config.chroma_dir), lambda of: keep_rows(config, "kb", [of])
    )


def closed(folder: Path) -> None:
    """Close the files of a folder's collections, some hundred, which ChromaDB keeps open for the process's life."""
    client = chroma_connection._clients.pop(str(load_settings(data_dir=folder).chroma_dir.resolve()))
    client.api.close()


def index(
    documents: list[str],
    caches: Path,
    store: VectorStoreChoice,
    embedder: type[RandomVectors],
    earlier: CorpusIndex | None,
    linked: bool = False,
) -> CorpusIndex:
    chunks = chunk_document(Document("kb", "Manual", "\n\n".join(documents)))
    return last(growing_index(chunks, "es", caches, embedder, with_links=linked, store=store, earlier=earlier))


def answers(found: CorpusIndex, turn: int) -> list[Any]:
    """Whole traces of questions by two of the strategies that the index is for, but for their seconds.

    Args:
        turn: chooses the strategies, so that three steps of a sequence ask all of them.
    """
    questions = ["¿La bomba con la llave?", "horno", "ruta de la dieta por el taller"]
    legal = STRATEGIES if found.graph is None else OF_LINKS
    traces: list[Any] = []
    for strategy in {legal[place % len(legal)] for place in (2 * turn, 2 * turn + 1)}:
        pipeline = Pipeline(found, settings_of(strategy))
        for trace in pipeline.retrieve(questions):
            traces.append(replace(trace, records=tuple(replace(record, seconds=0.0) for record in trace.records)))
    return traces


@cache
def settings_of(strategy: str) -> Settings:
    return load_settings(retrieval_strategy=strategy)


def matrices(found: CorpusIndex) -> list[Any]:
    assert found.dense is not None and found.dense.windows is not None and found.dense.sentences is not None
    return [found.dense.vectors.matrix, found.dense.windows.matrix, found.dense.sentences.matrix]


def check(folder: Path, place: Place, embedder: type[RandomVectors], steps: list[tuple[str, int]], short: bool) -> None:
    """Make the changes, and compare after each of them with a knowledge base that is built at once beside it."""
    owner, number_of_kb = "kb", next(_numbers)
    documents = [text(number, short) for number in range(12 if short else 4)]
    linked = len(steps) % 2 == 0
    caches = folder / str(number_of_kb)
    before = index(documents, caches / "cache", place.of(owner), embedder, None, linked)
    for number, (operation, seed_of_step) in enumerate(steps):
        documents, turn = changed(documents, operation, 1_000 * number + seed_of_step, short), number_of_kb + number
        of_before = answers(before, turn)
        following = index(documents, caches / "cache", place.of(owner), embedder, before, linked)
        beside = place.of(f"once-{number_of_kb}-{number}")
        once = index(documents, caches / f"once-{number}", beside, embedder, None, linked)
        for mine, expected in zip(matrices(following), matrices(once), strict=True):
            np.testing.assert_array_equal(mine, expected)
        of_following = answers(following, turn)
        assert of_following == answers(once, turn), (steps, number)
        assert answers(before, turn) == of_before, "the version before is asked meanwhile"
        if seed_of_step % 2:
            place.keep(following)
            assert answers(following, turn) == of_following
            if place.adds_again:
                assert answers(before, turn) == of_before, "its rows were added again"
        before = following


def check_many(
    batch: int, count: int, of_one: Callable[[list[tuple[str, int]], bool], None], short: bool | None = None
) -> None:
    """Check ``count`` sequences of changes; ``short`` says whether of short documents, None of both kinds."""
    made = 0

    @seed(batch)
    @settings(max_examples=count, phases=PHASES)
    @given(STEPS, st.booleans() if short is None else st.just(short))
    def sequences(steps: list[tuple[str, int]], of_short: bool) -> None:
        nonlocal made
        of_one([(operation, 10 * batch + number) for operation, number in steps], of_short)
        made += 1

    sequences()
    assert made == count


@pytest.mark.sampled(4)
@pytest.mark.parametrize("short", [False, True], ids=["long", "short"])
@pytest.mark.parametrize("embedder", [RandomTokens, RandomVectors])
@pytest.mark.parametrize("batch", batches(126))
def test_vectors_in_memory_after_any_changes_are_those_of_one_build(
    tmp_path: Path, batch: int, embedder: type[RandomVectors], short: bool
) -> None:
    place = in_files("exact", tmp_path)
    check_many(batch, PER_BATCH, lambda steps, _: check(tmp_path, place, embedder, steps, short), short)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("embedder", [RandomTokens, RandomVectors])
@pytest.mark.parametrize("batch", batches(252))
def test_chroma_after_any_changes_finds_what_one_build_finds(
    tmp_path: Path, batch: int, embedder: type[RandomVectors]
) -> None:
    place = in_files("chroma", tmp_path)
    check_many(batch, PER_BATCH, lambda steps, short: check(tmp_path, place, embedder, steps, short))
    closed(tmp_path)


@pytest.mark.parametrize("embedder", [RandomTokens, RandomVectors])
def test_only_what_changed_is_embedded_and_progress_counts_the_rest_as_done(
    tmp_path: Path, embedder: type[RandomVectors]
) -> None:
    read: list[str] = []

    class Counting(embedder):  # type: ignore[misc, valid-type]
        def embed(self, texts: list[str], input_type: Any) -> Any:
            read.extend(texts)
            return super().embed(texts, input_type)

        def text_tokens(self, texts: list[str], input_type: Any) -> Any:
            read.extend(texts)
            return super().text_tokens(texts, input_type)

    documents = [text(number, False) for number in range(8)]
    before = index(documents, tmp_path / "cache", VectorStoreChoice("exact", "kb"), embedder, None)
    after = [*documents[:3], "# Nuevo\n\nLa grúa levanta el molde.", *documents[4:]]
    chunks = chunk_document(Document("kb", "Manual", "\n\n".join(after)))
    seen: list[Any] = []
    # Another cache, so that what is not taken from the earlier index has to be computed.
    made = last(growing_index(chunks, "es", tmp_path / "other", Counting, seen.append, earlier=before))
    assert set(read) <= {"Nuevo\nLa grúa levanta el molde.", "La grúa levanta el molde."}
    assert read
    told = [progress for progress in seen if progress.phase == "embed_corpus"][1:]
    assert told[0].done == told[0].done_before > 10 * (told[-1].total - told[0].done)
    assert told[-1].done == told[-1].total
    assert isinstance(made.dense and made.dense.windows, ExactVectors)


def test_windows_beyond_memory_are_compared_as_after_one_build(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(900, 48)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    queries = matrix[5:9] + matrix[400:404]
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)

    def rows(part: Any, folder: str) -> ChromaVectors:
        made = VectorStoreChoice("chroma", "kb", tmp_path / folder).rows(part, "m", lambda _: None, "windows")
        assert isinstance(made, ChromaVectors) and made.matrix is None
        return made

    first, second = rows(matrix[:600], "changed"), rows(matrix[40:], "changed")
    for store, once in ((second, rows(matrix[40:], "second")), (first, rows(matrix[:600], "first"))):
        for query in queries:
            np.testing.assert_array_equal(store.cosines(query), once.cosines(query))
            some = np.array([7, 3, 550, 7])
            np.testing.assert_array_equal(store.similarities(query, some), once.similarities(query, some))
