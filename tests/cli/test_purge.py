"""``kb purge`` asks, takes documents out, and says what it did not reach."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Command
from tests.moving import app_over, moving_kb

PATH = "edificio/aparcamiento.md"


@pytest.fixture
def kb_id(command: Command) -> str:
    return moving_kb(app_over(command.data_dir))


def paths(command: Command, kb_id: str) -> list[str]:
    return [one.path for one in app_over(command.data_dir).kb_changes.documents(kb_id)]


def test_a_document_is_purged_by_the_name_of_its_knowledge_base(command: Command, kb_id: str) -> None:
    done = command("kb", "purge", "Manual de la casa", PATH, "--yes", "--json")
    report = json.loads(done.stdout)
    assert (report["kb_id"], report["paths"], report["versions"]) == (kb_id, [PATH], 1)
    assert PATH not in paths(command, kb_id)


def test_nothing_is_purged_without_a_yes(command: Command, kb_id: str) -> None:
    assert command("kb", "purge", kb_id, PATH).exit_code != 0
    assert PATH in paths(command, kb_id)


def test_what_is_not_covered_is_said(command: Command, kb_id: str) -> None:
    said = command("kb", "purge", kb_id, "edificio/", "--yes").stdout
    assert f"Removed {PATH} from 1 versions." in said
    assert "Not covered: backups" in said


def test_an_unknown_path_is_named_with_those_that_there_are(command: Command, kb_id: str) -> None:
    done = command("kb", "purge", kb_id, "nada.md", "--yes")
    assert done.exit_code == 2
    assert "'nada.md'" in done.stderr and PATH in done.stderr
