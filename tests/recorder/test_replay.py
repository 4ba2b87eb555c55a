"""A replay fails for what differs, is missing or is new, unless that is accepted by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks import record, replay
from benchmarks.recorder import running
from benchmarks.recorder.facts import PARTS, Fact
from tests.recorder import made_part

Run = Callable[..., tuple[int, str]]
"""Arguments behind the folder of the recording -> exit code and what was printed."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run record or replay over the made part, in this process as it is."""
    monkeypatch.setitem(PARTS, "made", made_part.__name__)
    monkeypatch.setattr(made_part, "NOW", {name: Fact(name, 1.0) for name in ("made/sampled", "made/other")})
    monkeypatch.setattr(made_part, "COSTS", [])
    for script in (record, replay):
        monkeypatch.setattr(script, "prepare", lambda: None)

    def called(script: str, *arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [script, str(tmp_path), "--only", "made", *arguments])
        code = (record if script == "record" else replay).main()
        return code, capsys.readouterr().out

    called("record")
    return called


def now(value: float, name: str = "made/other", shared: bool = False) -> None:
    made_part.NOW[name] = Fact(name, value, shared=shared)


def test_an_unchanged_part_has_no_difference(run: Run) -> None:
    assert run("replay") == (0, run("replay")[1])
    assert "2 facts: 2 equal" in run("replay")[1]


def test_a_difference_is_a_line_and_fails(run: Run) -> None:
    now(2.0)
    code, told = run("replay")
    assert code == 1 and "different: made/other : 1.0 → 2.0" in told


def test_a_missing_and_a_new_fact_fail(run: Run) -> None:
    del made_part.NOW["made/other"]
    now(1.0, "made/more")
    code, told = run("replay")
    assert code == 1 and "missing: made/other" in told and "new: made/more" in told


def test_what_is_accepted_with_a_reason_does_not_fail(run: Run, tmp_path: Path) -> None:
    accepted = tmp_path / "accepted.toml"
    accepted.write_text('[[accepted]]\nname = "made/ot*"\nreason = "Two is right."\n')
    now(2.0)
    code, told = run("replay")
    assert code == 0 and "accepted: made/other" in told
    accepted.write_text('[[accepted]]\nname = "made/ot*"\n')
    with pytest.raises(ValueError, match="a reason"):
        run("replay")


def test_the_sample_compares_its_own_facts_alone(run: Run) -> None:
    now(2.0)
    code, told = run("replay", "--sample")
    assert code == 0 and "1 facts: 1 equal" in told


def test_a_sample_that_is_no_part_of_the_whole_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(place: running.Place) -> list[Fact]:
        return [Fact("made/sampled", 1.0 if place.sample else 2.0)]

    monkeypatch.setattr(made_part, "facts", other)
    code, told = run("record")
    assert code == 1 and "made/sampled of the sample is another one" in told


def test_it_stops_at_the_first_difference(run: Run) -> None:
    now(2.0, "made/sampled")
    now(2.0)
    code, told = run("replay", "--stop")
    assert code == 1 and told.count("different") == 1


def test_a_cost_counts_if_it_stays_beyond_its_factor(run: Run) -> None:
    made_part.COSTS[:] = [10.0]
    run("record")
    made_part.COSTS[:] = [30.0, 12.0]
    assert run("replay")[0] == 0
    made_part.COSTS[:] = [30.0]
    assert run("replay")[0] == 1


def test_what_was_made_from_shared_texts_is_left_out_where_they_are_absent(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    now(1.0, "made/shared", shared=True)
    run("record")
    del made_part.NOW["made/shared"]
    monkeypatch.setattr(replay, "shared_datasets", lambda: None)
    code, told = run("replay")
    assert code == 0 and "1 skipped (../shared is absent)" in told


def test_two_facts_of_one_name_are_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_part, "facts", lambda place: [Fact("made/a", 1), Fact("made/a", 1)])
    with pytest.raises(ValueError, match="made/a"):
        run("record")


def test_a_part_that_fails_is_a_difference(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(place: running.Place) -> Iterator[Fact]:
        yield Fact("made/sampled", 1.0)
        raise OSError("no such thing")

    monkeypatch.setattr(made_part, "facts", failing)
    code, told = run("replay")
    assert code == 1 and "different: made/ it fails: OSError('no such thing')" in told
