"""What counts as the same fact: numbers within a tolerance, hits with all but equal scores in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.recorder.facts import PARTS, TIE, Fact, Verdict, compare, plain, read_facts

RECORDING = Path(__file__).parents[1] / "recording"
HITS = [["a", 0.9, {"bm25": 3.0}], ["b", 0.5, {"bm25": 2.0}], ["c", 0.5 - TIE / 4, {"bm25": 1.0}]]
SWAPPED = [HITS[0], HITS[2], HITS[1]]
EQUAL, TIED, OTHER = Verdict.EQUAL, Verdict.NEAR_TIE, Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("like", "before", "after", "expected"),
    [
        ("equal", {"a": [1.0, "x"]}, {"a": [1.0 + 5e-7, "x"]}, EQUAL),
        ("equal", {"a": [1.0, "x"]}, {"a": [1.0 + 5e-6, "x"]}, OTHER),
        ("equal", {"a": 1}, {"a": 1, "b": None}, EQUAL),
        ("equal", {"a": 1}, {"a": 1, "b": 0}, OTHER),
        ("equal", True, 1, OTHER),
        ("equal", 1, 1.0, EQUAL),
        ("equal", "0.1", "0.10", OTHER),
        ("equal", [1, 2], [1, 2, 3], OTHER),
        ("equal", -0.5, 0.5, OTHER),
        ("exact", 0.0312, 0.0312 + 5e-8, OTHER),
        ("exact", 0.0312, 0.0312 * (1 + 5e-10), EQUAL),
        ("vectors", 0.91234567, 0.91234567 + TIE / 2, EQUAL),
        ("vectors", 0.91234567, 0.91234567 + TIE * 2, OTHER),
        ("vectors", 0.2868, 0.2869, EQUAL),
        ("vectors", 0.2868, 0.287, OTHER),
        ("ranking", HITS, HITS, EQUAL),
        ("ranking", {"hits": HITS}, {"hits": SWAPPED}, TIED),
        ("vectors", HITS, SWAPPED, OTHER),
        ("ranking", HITS, [HITS[1], HITS[0], HITS[2]], OTHER),
        ("ranking", HITS, [HITS[0], ["c", HITS[2][1], {"bm25": 9.0}], HITS[1]], OTHER),
        ("ranking", HITS, [*HITS[:2], ["d", 0.5, {"bm25": 1.0}]], TIED),
        ("ranking", HITS, [*HITS[:2], ["d", 0.4, {"bm25": 1.0}]], OTHER),
        ("ranking", HITS, HITS[:2], OTHER),
        ("late", 0.7479, 0.7475, EQUAL),
        ("late", 0.7479, 0.7453, OTHER),
        ("time", 10.0, 19.9, EQUAL),
        ("time", 10.0, 2.0, EQUAL),
        ("time", 10.0, 20.1, OTHER),
        ("memory", 100, 126, OTHER),
    ],
)
def test_a_fact_is_the_same_differs_or_is_a_near_tie(like: str, before: Any, after: Any, expected: Verdict) -> None:
    assert compare(Fact("x", before, like), Fact("x", after, like))[0] is expected


def test_a_difference_is_told_by_its_place_and_both_values() -> None:
    told = compare(Fact("x", {"hits": HITS}), Fact("x", {"hits": [HITS[0], ["b", 0.7, {}], HITS[2]]}))[1]
    assert told == "hits[1][1]: 0.5 → 0.7"


def test_numbers_that_json_does_not_have_are_kept_as_text() -> None:
    assert plain({"b": (float("nan"), 1 / 3), "a": True}) == {"a": True, "b": ["nan", 0.333333333333]}
    with pytest.raises(TypeError):
        plain({1, 2})


@pytest.mark.parametrize("part", PARTS)
def test_the_recording_has_each_part_and_a_sample_of_it(part: str) -> None:
    found = read_facts(RECORDING / f"{part}.jsonl")
    assert found and all(name.startswith(f"{part}/") for name in found)
    assert any(in_sample for _, in_sample in found.values())
