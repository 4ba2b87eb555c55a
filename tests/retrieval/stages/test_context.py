"""What a context costs: every source character once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbot_mvp.retrieval.stages.context import ContextChars, context_budget
from chatbot_mvp.types import Chunk


def chunk(doc_id: str, start: int, end: int) -> Chunk:
    return Chunk(f"{doc_id}:{start}", doc_id, "", "x" * (end - start), start, end)


spans = st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(0, 15)).map(
    lambda item: chunk(item[0], item[1], item[1] + item[2])
)


@given(st.lists(spans, max_size=12))
def test_used_is_the_number_of_distinct_source_characters(chunks: list[Chunk]) -> None:
    context = ContextChars()
    for one in chunks:
        before, cost = context.used, context.cost(one)
        context.add(one)
        assert context.used == before + cost
    assert context.used == len({(one.doc_id, at) for one in chunks for at in range(one.start, one.end)})


@pytest.mark.parametrize(("chars", "budget"), [(0, 4_000), (40_000, 4_000), (40_001, 6_000)])
def test_sources_over_40000_characters_have_the_larger_budget(chars: int, budget: int) -> None:
    assert context_budget(chars, 4_000, 6_000) == budget
