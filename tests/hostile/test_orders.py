"""Random orders of changes, purges and kills: nothing reported is lost, nothing purged is there, nothing else goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.cases import draws
from tests.kills.order_model import Impossible, State, outcomes, words

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
START = State.created({"a.md": "A", "b.md": "B"})


def attacked(*arguments: str) -> None:
    """Run the script in a process without threads, which can be forked safely."""
    command = [sys.executable, "-m", "benchmarks", "attack_kb", *arguments, "--json"]
    report = json.loads(subprocess.run(command, cwd=PROJECT_ROOT, stdout=subprocess.PIPE).stdout)
    assert report["broken"] == []
    assert report["kills"] > 0


def test_a_few_orders_are_those_of_the_model() -> None:
    attacked("--sequences", "3", "--seed", "1")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_new_orders_are_those_of_the_model() -> None:
    attacked("--sequences", str(draws(300, 20)))


def test_the_model_takes_what_is_named_and_knows_both_orders() -> None:
    left = START.after(("move", "a.md", "c.md"), START)
    moved = left.after(("add", "a.md", "D"), left)
    assert moved.after(("purge", "a.md"), moved).current == {"b.md": (1, "B"), "c.md": (0, "A")}
    gone = moved.after(("purge", "c.md"), moved)
    assert [sorted(step) for step in gone.steps] == [["b.md"], ["b.md"], ["a.md", "b.md"], ["a.md", "b.md"]]
    with pytest.raises(Impossible):
        gone.after(("add", "c.md", "A"), gone)
    ended = left.after(("remove", "c.md"), left)
    another = ended.after(("add", "a.md", "D"), ended)
    assert another.after(("purge", "a.md"), another).steps[:2] == another.steps[:2]
    both = {repr(one.seen) for one in outcomes(START, [("add", "x.md", "X"), ("restore", "1")], [])}
    assert len(both) == 2


def test_an_operation_may_begin_between_two_others() -> None:
    """What removes a document that was published a moment before, and is gone again, has not lost anything."""
    staged = START.after(("stage", "c.md", "C"), START)
    found = [one.steps for one in outcomes(staged, [("publish",), ("restore", "1"), ("remove", "c.md")], [])]
    assert any(
        [sorted(step) for step in steps] == [["a.md", "b.md"], ["a.md", "b.md", "c.md"], ["a.md", "b.md"]]
        for steps in found
    )
    three = State.created({"a.md": "A", "b.md": "B", "z.md": "Z"})
    ended = three.after(("remove", "b.md"), three)
    moved = ended.after(("move", "a.md", "b.md"), ended)
    both = [one for one in outcomes(moved, [("restore", "2"), ("add", "b.md", "D")], []) if len(one.current) == 3]
    left = [words(one.after(("purge", "b.md"), one).current) for one in both]
    assert left == [{"z.md": "Z"}, {"a.md": "A", "z.md": "Z"}]  # it was added to what was moved, or behind the restore
