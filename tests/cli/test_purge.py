"""``kb purge`` asks, takes documents out, and says what it did not reach."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.moving import app_over, moving_kb

PATH = "edificio/aparcamiento.md"


@pytest.fixture
def data(tmp_path: Path, clean_env: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def kb_id(data: Path) -> str:
    return moving_kb(app_over(data))


def paths(data: Path, kb_id: str) -> list[str]:
    return [one.path for one in app_over(data).kb_changes.documents(kb_id)]


def test_a_document_is_purged_by_the_name_of_its_knowledge_base(command: Command, data: Path, kb_id: str) -> None:
    code, out, _ = command("kb", "purge", "Manual de la casa", PATH, "--yes", "--json")
    report = json.loads(out)
    assert (code, report["kb_id"], report["paths"], report["versions"]) == (0, kb_id, [PATH], 1)
    assert PATH not in paths(data, kb_id)


def test_nothing_is_purged_without_a_yes(
    command: Command, data: Path, kb_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert command("kb", "purge", kb_id, PATH)[0] != 0
    assert PATH in paths(data, kb_id)


@pytest.mark.slow
def test_what_is_not_covered_is_said(command: Command, kb_id: str) -> None:
    _, out, _ = command("kb", "purge", kb_id, "edificio/", "--yes")
    assert f"Removed {PATH} from 1 versions." in out
    assert "Not covered: backups" in out


def test_an_unknown_path_is_named_with_those_that_there_are(command: Command, kb_id: str) -> None:
    code, _, err = command("kb", "purge", kb_id, "nada.md", "--yes")
    assert code == 2
    assert "'nada.md'" in err
    assert PATH in err
