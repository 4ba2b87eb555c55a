"""What is changed at the same time: nothing of a change goes under it, and what was purged does not come back."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import KbChangeError, KbNotWritten
from chatbot_mvp.knowledge_base import changing
from chatbot_mvp.knowledge_base.changes import Move, Remove, applied
from chatbot_mvp.knowledge_base.version_files import VersionFiles
from chatbot_mvp.knowledge_base.versions import Version
from chatbot_mvp.storage.files import replaced_file
from chatbot_mvp.types import Progress
from tests.knowledge_base.test_purging import PATH, UNIQUE, found_in
from tests.moving import PARKING, app_over, document, moving_kb

OTHER = document("otro.md", "# Otro\n\nUn texto que no tiene que ver con nada.\n")


@pytest.fixture
def data(tmp_path: Path, clean_env: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def app(data: Path) -> App:
    return app_over(data)


def beside(work: Callable[[Callable[[Progress], None]], object]) -> tuple[Callable[[Progress], None], threading.Thread]:
    """Something that another thread does in the middle of a change, until it is done or waits for the change.

    Returns:
        (what the change calls with its progress, the thread)
    """
    settled = threading.Event()

    def waits(state: Progress) -> None:
        if state.phase == "kb_index":
            settled.set()

    def other() -> None:
        try:
            work(waits)
        finally:
            settled.set()

    thread = threading.Thread(target=other)

    def progress(_: Progress) -> None:
        if not thread.ident:
            thread.start()
            assert settled.wait(60)

    return progress, thread


def paths(app: App, kb_id: str) -> list[str]:
    return [one.path for one in app.kb_changes.documents(kb_id)]


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("servers", [1, 2])
def test_a_purge_in_the_middle_of_a_restore_loses_nothing_and_nothing_of_it_comes_back(
    app: App, data: Path, servers: int, removed: bool
) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, [Remove(PATH)] if removed else [], [OTHER])
    other = app_over(data) if servers == 2 else app
    progress, thread = beside(lambda waits: other.kb_changes.purge(kb_id, [PATH], progress=waits))
    app.kb_changes.restore(kb_id, "1", progress=progress)
    thread.join()
    assert [record.kb_id for record in app_over(data).kbs.records()] == [kb_id]
    assert paths(app_over(data), kb_id) == ["gastos/dietas.md", "personas/vacaciones.md"]
    assert {said: found_in(data, said) for said in UNIQUE} == {said: [] for said in UNIQUE}


def test_who_reads_while_a_purge_deletes_the_current_version_reads_the_next_one(
    app: App, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb_id = moving_kb(app)
    read, other = VersionFiles.version, app_over(data)

    def purged_before(files: VersionFiles, folder: Path, version_id: str) -> Version:
        monkeypatch.setattr(VersionFiles, "version", read)
        other.kb_changes.purge(kb_id, [PATH])
        return read(files, folder, version_id)

    monkeypatch.setattr(VersionFiles, "version", purged_before)
    assert paths(app_over(data), kb_id) == ["gastos/dietas.md", "personas/vacaciones.md"]


def test_a_draft_that_is_dropped_while_somebody_adds_to_it_is_no_damage(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, new=[document("uno.md", "# Uno\n\nUno dice uno.")], stage=True)
    read = VersionFiles.version

    def dropped_before(files: VersionFiles, folder: Path, version_id: str) -> Version:
        if (staged := app.kb_changes.staged(kb_id)) and staged.version_id == version_id:
            monkeypatch.setattr(VersionFiles, "version", read)
            app.kb_changes.drop(kb_id)
        return read(files, folder, version_id)

    monkeypatch.setattr(VersionFiles, "version", dropped_before)
    app.kb_changes.change(kb_id, new=[document("dos.md", "# Dos\n\nDos dice dos.")], stage=True)
    staged = app.kb_changes.staged(kb_id)
    assert staged is not None
    draft = [one.path for one in app.kb_changes.documents(kb_id, staged.version_id)]
    assert sorted(draft) == sorted([*paths(app, kb_id), "dos.md"])


def test_what_is_collected_in_the_middle_of_a_change_is_not_what_it_publishes_whatever_the_clock(
    app: App, data: Path
) -> None:
    kb_id = moving_kb(app)
    other = app_over(data)

    def collect(_: object) -> None:
        for path in data.rglob("*"):
            os.utime(path, (0, 0))
        other.kb_changes.collect(kb_id)

    done = threading.Event()

    def in_a_thread(_: Progress) -> None:
        if not done.is_set():
            done.set()
            threading.Thread(target=collect, args=(None,), daemon=True).start()

    app.kb_changes.change(kb_id, new=[OTHER], progress=in_a_thread)
    other.kb_changes.collect(kb_id)
    assert "otro.md" in paths(app_over(data), kb_id)
    assert "que ver con nada" in app_over(data).kbs.document(kb_id).text


def test_a_version_with_a_file_that_is_missing_does_not_become_current(app: App, data: Path) -> None:
    kb_id = moving_kb(app)

    def lose(_: Progress) -> None:
        for path in data.glob("kb/*/texts/*.txt"):
            if "que ver con nada" in path.read_text():
                path.unlink()

    with pytest.raises(KbChangeError, match=r"texts/.*is missing"):
        app.kb_changes.change(kb_id, new=[OTHER], progress=lose)
    assert "otro.md" not in paths(app_over(data), kb_id)
    app.kb_changes.change(kb_id, new=[OTHER])
    assert "otro.md" in paths(app_over(data), kb_id)


def test_what_was_purged_is_refused_under_its_path_also_from_a_draft_and_leaves_nothing(app: App, data: Path) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.purge(kb_id, [PATH])
    for stage in (False, True):
        with pytest.raises(KbChangeError, match="was purged"):
            app.kb_changes.change(kb_id, new=[document(PATH, PARKING)], stage=stage)
    assert {said: found_in(data, said) for said in UNIQUE} == {said: [] for said in UNIQUE}
    app.kb_changes.change(kb_id, new=[document("nuevo.md", PARKING)])
    with pytest.raises(KbChangeError, match="was purged"):
        app.kb_changes.change(kb_id, [Move("nuevo.md", PATH)])
    assert "nuevo.md" in paths(app, kb_id)


def test_a_file_that_goes_while_sizes_are_added_up_stops_no_change(app: App, data: Path) -> None:
    kb_id = moving_kb(app)
    (data / "kb" / kb_id / "texts" / f"{'a' * 64}.txt").symlink_to("nothing")  # listed, and not there
    app.kb_changes.change(kb_id, new=[OTHER])
    assert "otro.md" in paths(app, kb_id)


def test_a_change_that_was_stopped_leaves_nothing(app: App, data: Path) -> None:
    kb_id = moving_kb(app)

    class Stopped(BaseException):
        pass

    def stop(_: Progress) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        app.kb_changes.change(kb_id, new=[document("otro.md", "# Otro\n\nUn texto irrepetible.\n")], progress=stop)
    assert found_in(data, "irrepetible") == []


def contract(app: App) -> str:
    """A document that became a template, and another one that has its former path."""
    kb_id = moving_kb(app, document("contrato.md", "# Uno\n\nEl primero.\n"), OTHER)
    app.kb_changes.change(kb_id, [Move("contrato.md", "plantilla.md")])
    app.kb_changes.change(kb_id, new=[document("contrato.md", "# Dos\n\nEl segundo.\n")])
    return kb_id


def test_a_purge_takes_the_document_under_a_path_and_not_the_one_that_was_there_before(app: App, data: Path) -> None:
    kb_id = contract(app)
    report = app.kb_changes.purge(kb_id, ["contrato.md"])
    assert (report.paths, report.equal) == (("contrato.md",), ())
    assert paths(app_over(data), kb_id) == ["otro.md", "plantilla.md"]
    assert found_in(data, "El segundo") == []
    assert [one.path for one in app.kb_changes.documents(kb_id, "1")] == ["contrato.md", "otro.md"]


def test_a_purge_takes_a_document_also_from_under_its_former_path(app: App, data: Path) -> None:
    kb_id = contract(app)
    assert app.kb_changes.purge_plan(kb_id, ["plantilla.md"]).paths == ("contrato.md", "plantilla.md")
    app.kb_changes.purge(kb_id, ["plantilla.md"])
    assert paths(app_over(data), kb_id) == ["contrato.md", "otro.md"]
    assert found_in(data, "El primero") == []


def test_a_document_with_an_equal_text_stays_and_is_told(app: App, data: Path) -> None:
    kb_id = moving_kb(app, document("a.md", PARKING), document("b.md", PARKING), OTHER)
    app.kb_changes.change(kb_id, [Remove("a.md")])
    report = app.kb_changes.purge(kb_id, ["a.md"])
    assert (report.paths, report.equal) == (("a.md",), ("b.md",))
    assert paths(app_over(data), kb_id) == ["b.md", "otro.md"]
    assert "Zabalbeascoa" in app_over(data).kbs.document(kb_id).text
    assert [one.path for one in app.kb_changes.documents(kb_id, "1")] == ["b.md", "otro.md"]


def test_a_restored_document_is_the_one_that_it_was(app: App, data: Path) -> None:
    kb_id = contract(app)
    app.kb_changes.restore(kb_id, "1")
    app.kb_changes.purge(kb_id, ["contrato.md"])
    assert paths(app_over(data), kb_id) == ["otro.md"]
    assert found_in(data, "El primero") == []


def test_a_path_of_a_draft_names_the_document_that_it_was_when_the_draft_was_made(app: App, data: Path) -> None:
    kb_id = moving_kb(app, document("a.md", "# Uno\n\nEl primero.\n"), document("b.md", PARKING), OTHER)
    app.kb_changes.change(kb_id, new=[document("b.md", "# Dos\n\nEl segundo.\n")], stage=True)
    app.kb_changes.change(kb_id, [Remove("b.md")])
    app.kb_changes.change(kb_id, [Move("a.md", "b.md")])
    app.kb_changes.purge(kb_id, ["a.md"])
    assert paths(app_over(data), kb_id) == ["otro.md"]
    assert found_in(data, "El primero") == []
    assert found_in(data, "El segundo") != []


def test_a_new_document_of_a_draft_is_not_the_one_that_moves_to_its_path(app: App, data: Path) -> None:
    kb_id = moving_kb(app, document("a.md", "# Uno\n\nEl primero.\n"), OTHER)
    app.kb_changes.change(kb_id, new=[document("b.md", "# Dos\n\nEl segundo.\n")], stage=True)
    app.kb_changes.change(kb_id, [Move("a.md", "b.md")])
    app.kb_changes.purge(kb_id, ["a.md"])
    assert (found_in(data, "El primero"), paths(app, kb_id)) == ([], ["otro.md"])
    staged = app.kb_changes.staged(kb_id)
    assert staged is not None
    assert [one.path for one in app.kb_changes.documents(kb_id, staged.version_id)] == ["b.md", "otro.md"]


def test_a_path_in_what_a_killed_change_has_left_names_nothing(app: App) -> None:
    kb_id = moving_kb(app)
    now = app.kb_changes.documents(kb_id)
    app.kbs.store.draft(kb_id, applied(kb_id, now, [Move(PATH, "garaje.md")]), 1_000_000)  # and no publication
    with pytest.raises(KbChangeError, match=r"garaje\.md"):
        app.kb_changes.purge(kb_id, ["garaje.md"])
    assert app.kb_changes.documents(kb_id) == now


def test_a_draft_that_a_purge_leaves_nothing_of_waits_no_longer(app: App) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, new=[OTHER], stage=True)
    app.kb_changes.purge(kb_id, ["otro.md"])
    assert app.kb_changes.staged(kb_id) is None


def test_a_path_that_a_document_has_left_names_nothing(app: App) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, [Move(PATH, "garaje.md")])
    with pytest.raises(KbChangeError, match=r"garaje\.md"):
        app.kb_changes.purge(kb_id, [PATH])
    assert app.kb_changes.purgeable(kb_id) == ["garaje.md", "gastos/dietas.md", "personas/vacaciones.md"]


def test_notes_and_unfinished_files_that_quote_a_purged_document_go(app: App, data: Path) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, [Move(PATH, "garaje.md")], note="edificio/aparcamiento.md pasa a garaje")
    app.kb_changes.change(kb_id, new=[OTHER], note="Zabalbeascoa lo pide")
    app.kb_changes.change(kb_id, [Remove("otro.md")], note="ya no hace falta")
    for path in data.glob("kb/*/texts/*.txt"):
        path.with_name(f".{path.name}.99999.1").write_bytes(path.read_bytes())
    (data / "conversations").mkdir(exist_ok=True)
    (data / "conversations" / ".a.jsonl.99999.1").write_text("Zabalbeascoa")
    app.kb_changes.purge(kb_id, ["garaje.md"], note="Zabalbeascoa se retira")
    quoted = (*UNIQUE, PATH)
    assert {said: found_in(data, said) for said in quoted} == {said: [] for said in quoted}
    notes = [step.entry.note for step in app.kb_changes.history(kb_id)]
    assert [note[:10] for note in notes] == ["[retirado ", "ya no hace", "[retirado ", "[retirado ", ""]


def test_unfinished_files_of_the_dead_go_at_the_start_and_those_of_the_living_stay(data: Path, app: App) -> None:
    moving_kb(app)
    [folder] = data.glob("kb/*/texts")
    left = folder / f".{'a' * 64}.txt.99999.1"
    left.write_bytes(b"x")
    with replaced_file(folder / "living.txt") as file:
        file.write(b"y")
        file.flush()
        os.utime(file.name, (0, 0))
        app_over(data)
    assert not left.exists()
    assert (folder / "living.txt").read_bytes() == b"y"


def test_a_change_is_told_as_made_when_only_what_follows_it_fails(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    kb_id = moving_kb(app)

    def refuse(*_: object) -> None:
        raise KbNotWritten(name="a", path="b", reason="c")

    monkeypatch.setattr(app.kbs.store, "collect", refuse)
    record = app.kb_changes.change(kb_id, new=[OTHER])
    assert (record.number, paths(app, kb_id)[2]) == (2, "otro.md")
    app.kb_changes.change(kb_id, [Remove("otro.md")], stage=True)
    assert app.kb_changes.publish(kb_id).number == 3
    assert app.kb_changes.staged(kb_id) is None


def test_who_waits_for_another_change_can_stop(app: App, data: Path) -> None:
    kb_id = moving_kb(app)
    found: list[BaseException] = []

    class Stopped(Exception):
        pass

    def stopped(_: Callable[[Progress], None]) -> None:
        def stop(_: Progress) -> None:
            raise Stopped

        try:
            app_over(data).kb_changes.restore(kb_id, "1", progress=stop)
        except Stopped as error:
            found.append(error)

    progress, thread = beside(stopped)
    app.kb_changes.change(kb_id, new=[OTHER], progress=progress)
    thread.join()
    assert len(found) == 1
    assert "otro.md" in paths(app, kb_id)


@pytest.mark.parametrize("stage", [False, True])
def test_a_move_of_what_is_purged_meanwhile_is_told_as_a_change_of_somebody_else(
    app: App, monkeypatch: pytest.MonkeyPatch, stage: bool
) -> None:
    """Not as a base that cannot be read."""
    kb_id = moving_kb(app)

    def purged_meanwhile(*given: Any) -> Any:
        documents = applied(*given)
        app.kb_changes.purge(kb_id, [PATH])
        return documents

    monkeypatch.setattr(changing, "applied", purged_meanwhile)
    with pytest.raises(KbChangeError, match=f"Somebody else changed '{PATH}'") as told:
        app.kb_changes.change(kb_id, [Move(PATH, "nuevo.md")], stage=stage)
    assert told.value.code == "kb_changed_meanwhile"
    assert paths(app, kb_id) == ["gastos/dietas.md", "personas/vacaciones.md"]
    assert app.kb_changes.staged(kb_id) is None
