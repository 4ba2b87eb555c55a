"""Alterations: each is exact, tried in a copy, and undone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import recorder_mutations
from benchmarks.alterations import TIMED_OUT, Alteration, NotApplicable, read_alterations, run_altered, scratch_copy

ADD = Alteration("add", "sums/__init__.py", "a + b", "a - b")
SUM = [sys.executable, "-c", "import sums; print(sums.total(3, 2))"]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("root")
    (root / "sums").mkdir()
    (root / "sums" / "__init__.py").write_text("def total(a, b):\n    return a + b\n")
    (root / ".venv").mkdir()
    (root / ".gitignore").write_text("ignored\n.venv\n")
    (root / "ignored").touch()
    (root / "link").symlink_to("sums")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    with scratch_copy(root) as made:
        yield made


def test_a_command_sees_the_altered_copy_once_and_then_the_copy_as_it_was(copy: Path) -> None:
    assert run_altered(copy, None, SUM, 60) == (0, "5\n")
    assert run_altered(copy, ADD, SUM, 60) == (0, "1\n"), "also where a compiled file of equal size is there"
    assert run_altered(copy, None, SUM, 60) == (0, "5\n")


def test_the_copy_has_what_git_keeps_and_the_environment_by_a_link(copy: Path) -> None:
    assert not (copy / "ignored").exists()
    assert (copy / ".venv").is_symlink()


def test_a_command_past_its_limit_is_ended(copy: Path) -> None:
    assert run_altered(copy, None, ["tail", "-f", "/dev/null"], 0.2) == (TIMED_OUT, "")


@pytest.mark.parametrize(
    "wrong", [("sums/__init__.py", "a * b", "a"), ("sums/__init__.py", "a", "b"), ("none.py", "a", "b")]
)
def test_text_that_is_not_there_exactly_once_is_an_error_with_the_name(copy: Path, wrong: tuple[str, str, str]) -> None:
    with pytest.raises(NotApplicable, match=r"^odd: "):
        run_altered(copy, Alteration("odd", *wrong), SUM, 60)


def test_a_table_has_rows_in_sections_or_without(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text("a = ['p', 'x', 'y']\n[part]\nb = ['q', 'x', '', 'test']\n")
    assert read_alterations(table) == [Alteration("a", "p", "x", "y"), Alteration("b", "q", "x", "", ("test",))]


def test_a_copy_has_links_to_folders(copy: Path) -> None:
    assert (copy / "link").is_symlink() and (copy / "link" / "__init__.py").is_file()


def test_what_the_recorder_is_held_against_stands_in_the_code() -> None:
    for row in read_alterations(recorder_mutations.TABLE):
        row.altered()
