"""Each kind of file of a data folder is damaged in turn: that costs what it holds, and the rest works, purges too."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import KbChangeError, KbNotFound, KbUnreadable
from tests.conftest import Command
from tests.knowledge_base.test_purging import PATH, UNIQUE, found_in, used
from tests.moving import HOW_MANY_DAYS, PARKING, WHOSE_PLACE, app_over, document, moving_kb
from tests.server.serving import Served, client_of, running

Tools = pytest.importorskip("chatbot_mvp.wings.mcp.tools").Tools

OTHER = "# Jardín\n\nEl riego del jardín empieza a las siete de la mañana.\n"


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _shape(path: Path) -> None:
    if path.suffix == ".jsonl":  # one line among good ones
        lines = path.read_bytes().splitlines(keepends=True)
        odd = [b'{"type": "answer", "turn": [], "answer": 7}\n', b'{"type": "text", "turn": {}, "text": 3}\n', b"[1]\n"]
        path.write_bytes(b"".join([*lines[:1], *odd, b'{"type": "conversation", "others": 5}\n', *lines[1:]]))
    else:
        path.write_bytes(b'{"format_version": 1, "history": {"a": 1}, "documents": 3, "rows": [[]], "status": []}\n')


def _rubbish(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 40)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "truncated": _truncated,
    "of the wrong shape": _shape,
    "binary": _rubbish,
    "empty": _empty,
    "a folder": _folder,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """A data folder in which everything has been used: (its path, id of the knowledge base, id of another one)."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.isupper() and name.startswith(("KB_", "LLM_", "RETRIEVAL_"))]:
            patch.delenv(name)
        data = tmp_path_factory.mktemp("whole") / "data"
        app = app_over(data, log_queries=True)
        kb_id, _, _ = used(app)
        app.kb_changes.change(kb_id, new=[document(PATH, PARKING.replace("viernes", "jueves"))])
        app.kb_changes.change(kb_id, new=[document("nuevo.md", "# Nuevo\n\nUn borrador.\n")], stage=True)
        other = moving_kb(app, document("jardín.md", OTHER), document("b.md", "# B\n\nNada.\n"))
        yield data, kb_id, other


def kinds(data: Path, kb_id: str) -> dict[str, Path]:
    """One file of each kind in a data folder: a name of the kind -> its path."""
    app = app_over(data)
    version = app.kbs.store.version(kb_id)
    named = {version.version_id, *(one.sha256 for one in version.documents if one.path != PATH)}
    found: dict[str, Path] = {}
    for path in sorted(data.rglob("*")):
        name = path.relative_to(data).as_posix()
        if not path.is_file() or path.name.startswith(".") or not (name.startswith("kb/") <= (kb_id in name)):
            continue
        current = path.stem in named and path.parent.name in ("texts", "versions")
        kind = re.sub(r"[0-9a-f]{16,}|[0-9]{8}\S*?(?=[./]|$)", "#", name.replace(kb_id, "ID"))
        kind = f"kb/ID/{path.parent.name}/current" if current else kind
        found.setdefault(kind, path)
    return found


def damaged(whole: tuple[Path, str, str], data: Path, kind: str, how: str) -> list[str]:
    """Damage a file in a copy of the folder, do everything, and return what went wrong."""
    original, kb_id, other = whole
    shutil.copytree(original, data)
    DAMAGES[how](data / kinds(original, kb_id)[kind].relative_to(original))
    problems = []

    def tried(name: str, do: Callable[[], object]) -> None:
        try:
            do()
        except Exception as error:  # noqa: BLE001  (what is looked for)
            problems.append(f"{name}: {error!r}")

    app = app_over(data)
    tried("start", app.start)
    for one, asked in ((other, "¿Cuándo empieza el riego?"), (kb_id, HOW_MANY_DAYS)):
        tried(f"list {one}", partial(_listed, app, one))
        tried(f"ask {one}", partial(app.answering.ask, one, asked))
        new = [document("x.md", f"# X {one}\n\nAlgo nuevo de {one}.\n")]
        tried(f"add {one}", partial(app.kb_changes.change, one, new=new))
        gone = PATH if one == kb_id else "b.md"
        tried(f"purge {one}", partial(app.kb_changes.purge, one, [gone]))
    problems += [f"{said} is in {found}" for said in UNIQUE if (found := found_in(data, said))]
    return problems


def _listed(app: App, kb_id: str) -> None:
    if kb_id not in [record.kb_id for record in app.kbs.records()]:
        raise KbNotFound(kb_id=kb_id, legal="-")


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_costs_what_it_holds(
    whole: tuple[Path, str, str], tmp_path: Path, clean_env: Path, how: str
) -> None:
    found = kinds(whole[0], whole[1])
    assert len(found) >= 15, sorted(found)
    problems = {
        kind: wrong for at, kind in enumerate(found) if (wrong := damaged(whole, tmp_path / str(at), kind, how))
    }
    assert problems == {}


@pytest.fixture
def three(tmp_path: Path, clean_env: Path) -> tuple[Path, str]:
    """(folder of a knowledge base of three documents that had a fourth, its id)."""
    app = app_over(tmp_path)
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, new=[document("x.md", OTHER)])
    app.kb_changes.purge(kb_id, ["x.md"])
    return tmp_path / "kb" / kb_id, kb_id


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_head_is_named_and_set_aside_and_its_copy_counts(three: tuple[Path, str], how: str) -> None:
    folder, kb_id = three
    DAMAGES[how](folder / "kb.json")
    app = app_over(folder.parents[1])
    assert [(one.number, one.kb_name) for one in app.kbs.records()] == [(3, "Manual de la casa")]
    assert app.kbs.store.damaged(kb_id) == ["kb.json"]
    with pytest.raises(KbChangeError, match="was purged"):
        app.kb_changes.change(kb_id, new=[document("x.md", OTHER)])
    assert app.kbs.rename(kb_id, "Otro").kb_name == "Otro"
    assert app.kbs.store.damaged(kb_id) == []
    assert (folder / "damaged" / "kb.json").exists()
    app.kbs.delete(kb_id)
    assert not folder.exists()


def test_a_damaged_head_of_a_deleted_or_later_knowledge_base_has_no_copy(three: tuple[Path, str]) -> None:
    folder, kb_id = three
    head = (folder / "kb.json").read_bytes()
    (folder / "kb.json").write_bytes(head.replace(b'"format_version": 2', b'"format_version": 99'))
    app = app_over(folder.parents[1])
    [(unreadable, told)] = app.kbs.store.unreadable().items()
    assert (unreadable, told.code, told.params["found"]) == (kb_id, "kb_of_later_version", 99)
    assert "damaged" not in str(told)
    (folder / "kb.json").unlink()
    assert app.kbs.records() == []
    assert app.kbs.store.unreadable() == {}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("lost", ["edificio/aparcamiento.md", "gastos/dietas.md", "personas/vacaciones.md"])
def test_what_is_left_of_damaged_texts_is_answered_from_at_its_place(
    three: tuple[Path, str], lost: str, how: str
) -> None:
    folder, kb_id = three
    before = app_over(folder.parents[1])
    was = before.kbs.document(kb_id).text
    [sha256] = [one.sha256 for one in before.kb_changes.documents(kb_id) if one.path == lost]
    DAMAGES[how](folder / "texts" / f"{sha256}.txt")
    app = app_over(folder.parents[1])
    text = app.kbs.document(kb_id).text
    for file in app.kbs.store.files(kb_id):
        there = text[file.start : file.end]
        assert there == was[file.start : file.end] if file.name != lost else not there.strip()
    assert app.kbs.lost(kb_id) == [lost]
    chunks = app.kbs.chunks(kb_id)
    assert len(chunks) > 1
    assert any("días" in chunk.text for chunk in chunks) == ("vacaciones" not in lost)
    sources = {source.place.file for source in app.answering.ask(kb_id, HOW_MANY_DAYS).sources if source.place}
    assert lost not in sources
    assert ("personas/vacaciones.md" in sources) == ("vacaciones" not in lost)
    again = before.kbs.store.original(
        kb_id, next(one for one in before.kb_changes.documents(kb_id) if one.path == lost)
    )
    assert again is not None
    app.kb_changes.change(kb_id, new=[document(lost, again.decode())])
    assert app.kbs.lost(kb_id) == []
    assert app.kbs.document(kb_id).text == was
    assert "23" in app.answering.ask(kb_id, HOW_MANY_DAYS).text


@pytest.mark.parametrize("how", DAMAGES)
def test_a_head_and_its_copy_damaged_together_are_told_in_words_and_nothing_else_fails(
    three: tuple[Path, str], command: Command, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    folder, kb_id = three
    other = app_over(folder.parents[1]).kbs.add("jardín.md", OTHER.encode()).kb_id
    for name in ("kb.json", "kb.json.copy"):
        DAMAGES[how](folder / name)
    app = app_over(folder.parents[1])
    app.start()
    assert [one.kb_id for one in app.kbs.records()] == [other]
    assert [(kb, error.code) for kb, error in app.kbs.unreadable().items()] == [(kb_id, "kb_unreadable")]
    for refused in (app.kbs.named, app.kbs.growing, app.kb_changes.documents):
        with pytest.raises(KbUnreadable, match="or a backup"):
            refused(kb_id)
    assert "siete" in app.answering.ask(other, "¿Cuándo empieza el riego?").text
    assert Tools(app).search("riego")["left_out"] == {kb_id: []}
    monkeypatch.setenv("DATA_DIR", str(folder.parents[1]))
    for words in (("kb", "ask", kb_id, HOW_MANY_DAYS), ("kb", "history", kb_id), ("kb", "purge", kb_id, PATH, "--yes")):
        code, _, said = command(*words)
        assert (code, said.count("cannot be read"), "Traceback" in said) == (1, 1, False), said
    code, listed, _ = command("kb", "list", "--json")
    assert (code, [one["kb_id"] for one in json.loads(listed)["left_out"]]) == (6, [kb_id])
    assert command("kb", "ask", other, "¿Cuándo empieza el riego?")[0] == 0


@pytest.mark.parametrize("how", DAMAGES)
def test_a_knowledge_base_whose_only_document_is_damaged_is_told_in_words_and_can_be_mended(
    tmp_path: Path, clean_env: Path, how: str
) -> None:
    made = app_over(tmp_path)
    kb_id, other = (moving_kb(made, document(name, text)) for name, text in (("a.md", PARKING), ("b.md", OTHER)))
    [one] = made.kb_changes.documents(kb_id)
    DAMAGES[how](tmp_path / "kb" / kb_id / "texts" / f"{one.sha256}.txt")
    app = app_over(tmp_path)
    app.start()
    assert {one.kb_id for one in app.kbs.records()} == {kb_id, other}
    with pytest.raises(KbUnreadable, match="Add the documents that are damaged again"):
        app.answering.ask(kb_id, HOW_MANY_DAYS)
    assert Tools(app).search("riego del jardín")["left_out"] == {kb_id: ["a.md"]}
    assert "siete" in app.answering.ask(other, "¿Cuándo empieza el riego?").text
    app.kb_changes.change(kb_id, new=[document("a.md", PARKING)])
    assert (app.kbs.lost(kb_id), app.kbs.document(kb_id).text) == ([], made.kbs.document(kb_id).text)
    assert app.answering.ask(kb_id, WHOSE_PLACE).outcome != "refused"


@pytest.fixture
def incomplete(three: tuple[Path, str]) -> tuple[App, str]:
    """(an app over the knowledge base of three documents of which one is lost, the id)."""
    folder, kb_id = three
    [sha256] = [one.sha256 for one in app_over(folder.parents[1]).kb_changes.documents(kb_id) if one.path == PATH]
    (folder / "texts" / f"{sha256}.txt").unlink()
    return app_over(folder.parents[1]), kb_id


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_over_http_names_the_documents_that_are_left_out(incomplete: tuple[App, str], stream: bool) -> None:
    app, kb_id = incomplete
    with running(app) as url:
        reply = Served(client_of(url), kb_id, app).ask(HOW_MANY_DAYS, stream=stream)
    told = reply[-1] if stream else reply
    assert told.outcome == "answered"
    assert told.left_out == {kb_id: [PATH]}


def test_a_reply_over_mcp_names_the_documents_that_are_left_out(incomplete: tuple[App, str]) -> None:
    app, kb_id = incomplete
    assert Tools(app).search(HOW_MANY_DAYS)["left_out"] == {kb_id: [PATH]}
    asked = Tools(app).ask(HOW_MANY_DAYS)
    assert (asked["outcome"], asked["left_out"]) == ("answered", {kb_id: [PATH]})
