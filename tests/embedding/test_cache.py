"""No text is ever embedded twice."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.errors import RunStopped, UnknownChoice
from chatbot_mvp.settings.model import LOCAL_EMBEDDER, Settings
from chatbot_mvp.types import Progress
from tests.fakes import FakeEmbedder
from tests.stopping import stop_when

TEXTS = ["el perro ladra", "gato", "una frase bastante más larga sobre el río", "puente"]
_CHARS = sum(map(len, TEXTS))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "vectors.sqlite"


def expected(embedder: FakeEmbedder, texts: Sequence[str]) -> np.ndarray:
    return np.array([embedder.vector(text) for text in texts])


@hypothesis_settings(max_examples=12)
@given(texts=st.lists(st.text(max_size=20), max_size=8))
@example(texts=[*TEXTS, *TEXTS, TEXTS[0]])
@example(texts=[])
@example(texts=[f"texto {number}" for number in range(1_203)])  # more than one SQL statement takes
def test_a_text_is_embedded_once_and_its_vector_comes_in_its_place_also_from_a_new_cache_over_the_file(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.mktemp("vectors") / "v.sqlite"
    embedder = FakeEmbedder()
    cache = VectorCache(path)
    cache.embed(embedder, texts[: len(texts) // 3], "passage")
    for asked, asking in ((texts, cache), (texts[::-1], cache), (texts, VectorCache(path))):
        vectors = asking.embed(embedder, asked, "passage")
        assert (vectors.dtype, vectors.shape) == (np.float32, (len(asked), embedder.dimensions))
        np.testing.assert_array_equal(vectors, expected(embedder, asked).reshape(vectors.shape))
    assert sorted(embedder.embedded) == sorted(set(texts))
    assert all(batch for _, batch in embedder.batches)


@pytest.mark.parametrize(("model_id", "input_type"), [("fake/other", "passage"), ("fake/bag-of-words", "query")])
def test_another_model_or_input_type_shares_no_vector(path: Path, model_id: str, input_type: str) -> None:
    VectorCache(path).embed(FakeEmbedder(), TEXTS, "passage")
    other = FakeEmbedder(model_id=model_id)
    VectorCache(path).embed(other, TEXTS, input_type)  # type: ignore[arg-type]
    assert sorted(other.embedded) == sorted(TEXTS)


@pytest.mark.parametrize(("part_chars", "sizes"), [(1, [1, 1, 1, 1]), (_CHARS - 1, [3, 1]), (_CHARS, [4])])
def test_a_part_holds_so_many_characters_or_one_text(
    path: Path, embedder: FakeEmbedder, part_chars: int, sizes: list[int]
) -> None:
    VectorCache(path, part_chars).embed(embedder, TEXTS, "passage")
    assert [len(texts) for _, texts in embedder.batches] == sizes


def test_an_embedder_gets_at_most_its_batch_size_at_once(path: Path) -> None:
    embedder = FakeEmbedder(batch_size=3)
    VectorCache(path).embed(embedder, TEXTS, "passage")
    assert [len(texts) for _, texts in embedder.batches] == [3, 1]


def test_a_stop_in_mid_work_keeps_the_finished_parts(path: Path, embedder: FakeEmbedder) -> None:
    stop = stop_when(lambda now: now.done >= 2)
    with pytest.raises(RunStopped):
        VectorCache(path, part_chars=1).embed(embedder, TEXTS, "passage", progress=stop)
    assert len(embedder.embedded) == 2
    VectorCache(path, part_chars=1).embed(embedder, TEXTS, "passage")
    assert sorted(embedder.embedded) == sorted(TEXTS)


def test_progress_counts_distinct_texts_and_tells_cached_from_fresh(path: Path, embedder: FakeEmbedder) -> None:
    seen: list[Progress] = []
    cache = VectorCache(path, part_chars=len(TEXTS[1]) + len(TEXTS[2]))
    cache.embed(embedder, TEXTS[:1], "passage")
    cache.embed(embedder, [*TEXTS, *TEXTS], "passage", progress=seen.append, phase="embed_corpus")
    assert {(p.phase, p.total, p.done_before) for p in seen} == {("embed_corpus", 4, 1)}
    assert (seen[0].done, seen[-1].done, len(seen)) == (1, 4, 3)
    assert sorted(after.done - before.done for before, after in pairwise(seen)) == [1, 2]
    assert seen[0].rate is None
    assert seen[-1].seconds_left == 0


def test_threads_that_share_a_cache_and_a_second_cache_over_its_file_see_each_other(path: Path) -> None:
    shared, texts = VectorCache(path), [f"texto {number}" for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda text: shared.embed(FakeEmbedder(), [text], "query"), texts))
    fresh = FakeEmbedder()
    VectorCache(path).embed(fresh, texts, "query")
    assert fresh.batches == []


def test_a_new_text_does_not_wait_for_the_disk(path: Path, embedder: FakeEmbedder) -> None:
    """What is written stays in the journal while the cache is open: emptying it is what waits."""
    cache = VectorCache(path)
    cache.embed(embedder, TEXTS, "query")
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0


def test_an_unknown_embedding_model_is_answered_with_the_known_ones(settings: Settings) -> None:
    with pytest.raises(UnknownChoice) as raised:
        create_embedder("nonesuch/model", settings)
    assert "'nonesuch/model'" in str(raised.value)
    assert LOCAL_EMBEDDER in str(raised.value)
