"""Knowledge bases on the command line: made, changed, synchronised with a folder, compared and restored."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.cli.test_main import Cli, cli, one_object

__all__ = ["cli"]

HOLIDAYS = "# Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones.\n\nSe piden por escrito.\n"
COSTS = "# Gastos\n\nLos gastos de viaje se pagan en 30 días.\n"
TRAVEL = "# Viajes\n\nLos billetes de tren se compran en la oficina central.\n"
OLD = "politica-empresa-6704388c1c044ad47022f75d"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Documents in folders with blanks and accents, beside files that are none."""
    found = tmp_path / "documentos"
    for name, text in {
        "rrhh año/vacaciones días.md": HOLIDAYS,
        "gastos.md": COSTS,
        "viajes/a b/tren.txt": TRAVEL,
    }.items():
        path = found / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (found / "foto.png").write_bytes(b"\x89PNG")
    (found / ".oculto.md").write_text("oculto", "utf-8")
    return found


def paths(cli: Cli, *more: str) -> list[str]:
    return [document["path"] for document in cli.json("kb", "list", "Manual", *more)["documents"]]


def what(outcome: dict[str, Any]) -> dict[str, str]:
    return {file["path"]: file["what"] for file in outcome["files"]}


ALL = ["gastos.md", "rrhh año/vacaciones días.md", "viajes/a b/tren.txt"]


def test_a_folder_becomes_a_knowledge_base_that_is_asked_by_its_name(cli: Cli, folder: Path) -> None:
    made = cli.json("kb", "create", "Manual", str(folder), "--tag", "2026", "--tag", "público", "--date", "2026-01-31")
    assert (made["kb_name"], made["version"], made["complete"]) == ("Manual", 1, True)
    assert what(made) == dict.fromkeys(ALL, "added")
    assert sorted(made["ignored"]) == [".oculto.md", "foto.png"]
    documents = cli.json("kb", "list", "manual")["documents"]
    assert [document["path"] for document in documents] == ALL
    assert [(document["tags"], document["date"]) for document in documents] == [(["2026", "público"], "2026-01-31")] * 3
    assert documents[0]["bytes"] == len(COSTS.encode())
    for name in ("Manual", made["kb_id"]):
        answer = cli.json("kb", "ask", name, "¿Cuántos días de vacaciones hay?")
        assert "23 días" in answer["answer"]
    assert [kb["kb_id"] for kb in cli.json("kb", "list")["knowledge_bases"]] == [made["kb_id"]]
    assert "gastos.md" in cli("kb", "list", "Manual").stdout


def test_documents_are_added_replaced_moved_described_and_removed(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    (folder / "gastos.md").write_text(COSTS.replace("30", "45"), "utf-8")
    (folder / "nuevo.md").write_text("# Nuevo\n\nUn documento nuevo.\n", "utf-8")
    given = [str(folder / "gastos.md"), str(folder / "nuevo.md")]
    added = cli.json("kb", "add", "Manual", *given, "--note", "gastos nuevos")
    assert (what(added), added["version"]) == ({"gastos.md": "replaced", "nuevo.md": "added"}, 2)
    assert cli.json("kb", "add", "Manual", *given)["changed"] is False
    (folder / "copia.md").write_bytes((folder / "nuevo.md").read_bytes())
    cli("kb", "add", "Manual", str(folder / "copia.md"), code=0)
    assert "copia.md" not in paths(cli), "its text is there already"
    cli("kb", "add", "Manual", str(folder / "nuevo.md"), "--into", "viajes/")
    assert {"nuevo.md", "viajes/nuevo.md"} < set(paths(cli)), "in another folder it is another document"
    cli("kb", "remove", "Manual", "viajes/nuevo.md")
    cli("kb", "move", "Manual", "nuevo.md", "viajes")
    cli("kb", "move", "Manual", "viajes", "desplazamientos/de empresa")
    assert paths(cli) == [
        "desplazamientos/de empresa/a b/tren.txt",
        "desplazamientos/de empresa/nuevo.md",
        "gastos.md",
        "rrhh año/vacaciones días.md",
    ]
    cli("kb", "move", "Manual", "desplazamientos/de empresa/nuevo.md", "/")
    cli("kb", "describe", "Manual", "desplazamientos", "nuevo.md", "--tag", "viajes", "--title", "Viajar")
    about = {one["path"]: (one["title"], one["tags"]) for one in cli.json("kb", "list", "Manual")["documents"]}
    assert about["nuevo.md"] == about["desplazamientos/de empresa/a b/tren.txt"] == ("Viajar", ["viajes"])
    assert about["gastos.md"] == ("", [])
    cli("kb", "describe", "Manual", "nuevo.md", "--tag", "", "--title", "")
    removed = cli.json("kb", "remove", "Manual", "desplazamientos", "gastos.md")
    assert paths(cli) == ["nuevo.md", "rrhh año/vacaciones días.md"]
    assert removed["documents"] == 2
    steps = cli.json("kb", "history", "Manual")["history"]
    assert [step["number"] for step in steps] == [*range(removed["version"], 0, -1)]
    assert next(step["note"] for step in steps if step["number"] == 2) == "gastos nuevos"


def test_a_file_that_comes_again_changes_or_clears_what_is_said_of_its_document(cli: Cli, folder: Path) -> None:
    def about() -> tuple[str, list[str]]:
        return next((one["title"], one["tags"]) for one in cli.json("kb", "list", "Manual")["documents"])

    costs = folder / "gastos.md"
    cli("kb", "create", "Manual", str(folder), "--title", "Gastos", "--tag", "2026")
    for days, title, then in ((30, "De viaje", "De viaje"), (45, "", ""), (45, "Otra vez", "Otra vez"), (45, "", "")):
        costs.write_text(COSTS.replace("30", str(days)), "utf-8")
        added = cli.json("kb", "add", "Manual", str(costs), "--title", title)
        assert (what(added), added["changed"]) == ({"gastos.md": "replaced"}, True)
        assert about() == (then, ["2026"])
    assert cli.json("kb", "add", "Manual", str(costs), "--title", "")["changed"] is False
    cli("kb", "add", "Manual", str(costs), "--tag", "")
    assert about() == ("", [])


def test_versions_are_compared_paragraph_by_paragraph_and_restored(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    path = folder / "rrhh año" / "vacaciones días.md"
    path.write_text(HOLIDAYS.replace("23", "25"), "utf-8")
    cli("kb", "add", "Manual", str(path), "--into", "rrhh año")
    cli("kb", "remove", "Manual", "gastos.md")
    found = cli.json("kb", "diff", "Manual", "1")
    assert [(one["path"], one["what"]) for one in found["documents"]] == [
        ("gastos.md", "removed"),
        ("rrhh año/vacaciones días.md", "changed"),
    ]
    [changed] = found["documents"][1]["paragraphs"]
    assert ["23 días" in text for text in changed["before"]] == [True]
    assert ["25 días" in text for text in changed["after"]] == [True]
    told = cli("kb", "diff", "Manual", "1", "2").stdout
    assert "  - Cada persona dispone de 23" in told
    assert "  + Cada persona dispone de 25" in told
    assert cli("kb", "diff", "Manual").stdout == "removed: gastos.md\n"
    cli("kb", "restore", "Manual", "1", "--note", "como antes")
    assert paths(cli) == ALL
    assert "23 días" in cli("kb", "ask", "Manual", "¿Cuántos días de vacaciones hay?").stdout
    assert "restored" in cli("kb", "history", "Manual").stdout
    assert "25" not in cli("kb", "diff", "Manual", "1", "4").stdout


def test_a_draft_waits_until_it_is_published_or_dropped(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    cli("kb", "remove", "Manual", "gastos.md", "--stage")
    (folder / "nuevo.md").write_text("# Nuevo\n\nUn documento nuevo.\n", "utf-8")
    staged = cli.json("kb", "add", "Manual", str(folder / "nuevo.md"), "--stage")
    assert (staged["version"], staged["draft"]["version_id"]) == (0, staged["version_id"])
    assert paths(cli) == ALL
    assert paths(cli, "--version", "draft") == ["nuevo.md", *ALL[1:]]
    assert cli("kb", "diff", "Manual", "current", "draft").stdout == "removed: gastos.md\nadded: nuevo.md\n"
    published = cli.json("kb", "publish", "Manual")
    assert (published["version"], published["draft"]) == (2, None)
    assert paths(cli) == ["nuevo.md", *ALL[1:]]
    cli("kb", "remove", "Manual", "nuevo.md", "--stage")
    assert cli.json("kb", "drop", "Manual")["draft"] is None
    for command in ("publish", "drop"):
        assert one_object(cli("kb", command, "Manual", "--json", code=2).stdout)["error"]["code"] == "kb_nothing_staged"


def test_files_are_staged_by_a_command_of_its_own_which_without_files_tells_what_waits(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    told = one_object(cli("kb", "stage", "Manual", "--json", code=2).stdout)
    assert told["error"]["code"] == "kb_nothing_staged"
    (folder / "nuevo.md").write_text("# Nuevo\n\nUn documento nuevo.\n", "utf-8")
    staged = cli.json("kb", "stage", "Manual", str(folder / "nuevo.md"), "--into", "altas", "--tag", "2026")
    assert what(staged) == {"altas/nuevo.md": "added"}
    assert paths(cli) == ALL
    assert cli.json("kb", "stage", "Manual")["version_id"] == staged["version_id"]
    assert cli("kb", "stage", "Manual").stdout.splitlines()[1:] == ["added: altas/nuevo.md"]
    cli("kb", "publish", "Manual")
    assert paths(cli) == ["altas/nuevo.md", *ALL]


def test_an_unusable_file_among_others_is_told_and_the_others_go_in(cli: Cli, folder: Path) -> None:
    bad = folder / "roto.pdf"
    bad.write_bytes(b"%PDF-1.4 nada")
    done = cli("kb", "create", "Manual", str(folder), str(folder / "no está.md"), "--json", code=6)
    made = one_object(done.stdout)
    assert [file["path"] for file in made["files"] if file["what"] == "failed"] == [
        str(folder / "no está.md"),
        "roto.pdf",
    ]
    assert paths(cli) == ALL
    assert "failed: roto.pdf: " in done.stderr
    alone = one_object(cli("kb", "add", "Manual", str(bad), "--json", code=2).stdout)["error"]
    assert alone["code"] == "upload_damaged"
    both = one_object(cli("kb", "add", "Manual", str(bad), str(folder / "nada"), "--json", code=2).stdout)["error"]
    assert both["code"] == "upload_none_usable"
    assert cli.json("kb", "list", "Manual")["knowledge_base"]["version"] == 1


def test_a_replaced_document_gets_its_new_text_also_where_another_one_has_that(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    (folder / "gastos.md").write_text(HOLIDAYS, "utf-8")
    assert what(cli.json("kb", "add", "Manual", str(folder / "gastos.md"))) == {"gastos.md": "replaced"}
    documents = {one["path"]: one["sha256"] for one in cli.json("kb", "list", "Manual")["documents"]}
    assert documents["gastos.md"] == documents["rrhh año/vacaciones días.md"]


def test_two_files_that_would_be_one_document_are_told(cli: Cli, folder: Path) -> None:
    (folder / "b").mkdir()
    (folder / "b" / "gastos.md").write_text(TRAVEL, "utf-8")
    done = cli("kb", "create", "Manual", str(folder / "gastos.md"), str(folder / "b" / "gastos.md"), "--json", code=6)
    assert [file.get("code") for file in one_object(done.stdout)["files"]] == [None, "upload_same_path"]


def test_sync_adds_replaces_moves_and_removes_and_a_dry_run_says_so_first(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder), "--tag", "propio")
    assert cli.json("kb", "sync", "Manual", str(folder))["changed"] is False
    (folder / "rrhh año").rename(folder / "personas")
    (folder / "gastos.md").write_text(COSTS.replace("30", "45"), "utf-8")
    (folder / "viajes" / "a b" / "tren.txt").unlink()
    (folder / "nuevo.md").write_text("# Nuevo\n\nUn documento nuevo.\n", "utf-8")
    wanted = {
        "gastos.md": "replaced",
        "nuevo.md": "added",
        "personas/vacaciones días.md": "moved",
        "viajes/a b/tren.txt": "removed",
    }
    dry = cli.json("kb", "sync", "Manual", str(folder), "--dry-run")
    assert (what(dry), dry["dry_run"], dry["changed"]) == (wanted, True, False)
    assert paths(cli) == ALL
    done = cli.json("kb", "sync", "Manual", str(folder))
    assert (what(done), done["version"]) == (wanted, 2)
    documents = {one["path"]: one["tags"] for one in cli.json("kb", "list", "Manual")["documents"]}
    assert documents == {"gastos.md": ["propio"], "nuevo.md": [], "personas/vacaciones días.md": ["propio"]}
    assert cli.json("kb", "sync", "Manual", str(folder))["changed"] is False


def test_sync_and_add_tell_what_was_purged_and_take_the_rest(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    cli("kb", "purge", "Manual", "gastos.md", "--yes")
    (folder / "nuevo.md").write_text("# Nuevo\n\nUn texto nuevo.\n", "utf-8")
    for command in (("sync", "Manual", str(folder), "--dry-run"), ("sync", "Manual", str(folder))):
        told = cli("kb", *command, "--json", code=6)
        found = what(one_object(told.stdout))
        assert (found["gastos.md"], found["nuevo.md"]) == ("failed", "added")
        assert "gastos.md' with this text was purged" in told.stderr + told.stdout
    (folder / "otro.md").write_text("# Otro\n\nOtro texto.\n", "utf-8")
    assert what(one_object(cli("kb", "add", "Manual", str(folder), "--json", code=6).stdout))["otro.md"] == "added"
    (folder / "gastos.md").write_text(
        (folder / "otro.md").read_text("utf-8"), "utf-8"
    )  # and under its path, another text
    (folder / "otro.md").unlink()
    assert what(cli.json("kb", "sync", "Manual", str(folder)))["gastos.md"] == "moved"
    assert paths(cli) == ["gastos.md", "nuevo.md", *ALL[1:]]
    cli("kb", "purge", "Manual", "nuevo.md", "--yes")
    (folder / "copia.md").write_text("# Nuevo\n\nUn texto nuevo.\n", "utf-8")
    (folder / "nuevo.md").unlink()
    cli.json("kb", "sync", "Manual", str(folder))
    (folder / "copia.md").rename(folder / "nuevo.md")
    found = what(one_object(cli("kb", "sync", "Manual", str(folder), "--json", code=6).stdout))
    assert (found["nuevo.md"], "copia.md" in found) == ("failed", False)
    assert paths(cli) == ["copia.md", "gastos.md", *ALL[1:]]


def test_sync_never_empties_a_knowledge_base_by_accident(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    empty = folder.parent / "vacía"
    empty.mkdir()
    for arguments, code in (
        ((str(empty),), "kb_sync_removes_most"),
        ((str(empty), "--yes"), "kb_would_be_empty"),
        ((str(folder / "nada"),), "upload_not_found"),
    ):
        error = one_object(cli("kb", "sync", "Manual", *arguments, "--json", code=2).stdout)["error"]
        assert error["code"] == code
    # What cannot be read any more leaves its document.
    (folder / "gastos.md").write_bytes(b"\x00" * 10)
    assert cli("kb", "sync", "Manual", str(folder), code=6).stdout.endswith("already so\n")
    assert paths(cli) == ALL
    shutil.rmtree(folder / "viajes")
    shutil.rmtree(folder / "rrhh año")
    cli("kb", "sync", "Manual", str(folder), code=2)
    cli("kb", "sync", "Manual", str(folder), "--yes", code=6)
    assert paths(cli) == ["gastos.md"]


def test_links_in_a_folder_are_told_and_not_followed(cli: Cli, folder: Path) -> None:
    secret = folder.parent / "secreto.md"
    secret.write_text("# Secreto\n\nLa clave es 4711.\n", "utf-8")
    (folder / "enlace.md").symlink_to(secret)
    (folder / "otros").symlink_to(folder.parent)
    os.mkfifo(folder / "tubo.md")
    made = one_object(cli("kb", "create", "Manual", str(folder), "--json", code=6).stdout)
    assert what(made) == {**dict.fromkeys(ALL, "added"), "enlace.md": "failed", "otros": "failed"}
    assert {file.get("code") for file in made["files"]} == {None, "upload_link"}
    assert sorted(made["ignored"]) == [".oculto.md", "foto.png", "tubo.md"]
    assert paths(cli) == ALL
    # One that is named itself is meant.
    assert what(cli.json("kb", "add", "Manual", str(folder / "enlace.md"))) == {"enlace.md": "added"}


def test_a_subfolder_that_became_a_link_keeps_its_documents(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    (folder / "viajes").rename(folder.parent / "viajes")
    (folder / "viajes").symlink_to(folder.parent / "viajes")
    done = cli("kb", "sync", "Manual", str(folder), "--yes", code=6)
    assert "failed: viajes: 'viajes' is a link" in done.stderr
    assert paths(cli) == ALL


def test_a_special_file_that_is_named_is_refused_at_once(cli: Cli, folder: Path) -> None:
    for place in ("file:/dev/zero", f"file:{folder / 'tubo.md'}"):
        if not (folder / "tubo.md").exists():
            os.mkfifo(folder / "tubo.md")
        error = one_object(cli("kb", "create", "Manual", place, "--json", code=2).stdout)["error"]
        assert error["code"] == "document_source_failed"
        assert "regular file" in error["message"]


def test_a_folder_of_the_knowledge_base_can_stand_for_a_folder(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder / "gastos.md"))
    cli("kb", "sync", "Manual", str(folder / "rrhh año"), "--into", "rrhh")
    assert paths(cli) == ["gastos.md", "rrhh/vacaciones días.md"]
    (folder / "rrhh año" / "vacaciones días.md").rename(folder / "rrhh año" / "otro.md")
    assert what(cli.json("kb", "sync", "Manual", str(folder / "rrhh año"), "--into", "rrhh")) == {
        "rrhh/otro.md": "moved"
    }
    assert paths(cli) == ["gastos.md", "rrhh/otro.md"]


def test_the_original_of_a_document_comes_back_byte_by_byte(cli: Cli, folder: Path) -> None:
    content = COSTS.replace("\n", "\r\n").encode("latin-1")
    (folder / "gastos.md").write_bytes(content)
    cli("kb", "create", "Manual", str(folder))
    cli("kb", "original", "Manual", "gastos.md", "--out", str(folder.parent))
    assert (folder.parent / "gastos.md").read_bytes() == content
    told = one_object(cli("kb", "original", "Manual", "nada.md", "--out", "x", "--json", code=2).stdout)["error"]
    assert told["code"] == "kb_document_not_found"


def test_a_knowledge_base_of_the_former_format_is_changed_synchronised_and_restored(cli: Cli, tmp_path: Path) -> None:
    shutil.copytree(PROJECT_ROOT / "tests" / "fixtures" / "v1" / "kb", cli.data / "kb")
    [kb] = cli.json("kb", "list")["knowledge_bases"]
    assert (kb["kb_id"], kb["version"]) == (OLD, 1)
    [name] = [one["path"] for one in cli.json("kb", "list", OLD)["documents"]]
    error = one_object(cli("kb", "original", OLD, name, "--out", "x", "--json", code=2).stdout)["error"]
    assert error["code"] == "kb_original_not_kept"
    folder = tmp_path / "antes"
    folder.mkdir()
    text = (cli.data / "kb" / OLD / "source.txt").read_text("utf-8")
    (folder / f"otro {name}").write_text(text, "utf-8")
    (folder / "gastos.md").write_text(COSTS, "utf-8")
    done = cli.json("kb", "sync", kb["kb_name"], str(folder))
    assert what(done) == {"gastos.md": "added", f"otro {name}": "moved"}
    cli("kb", "original", OLD, f"otro {name}", "--out", "x.md")
    cli("kb", "remove", OLD, "gastos.md")
    cli("kb", "restore", OLD, "2")
    assert len(cli.json("kb", "list", OLD)["documents"]) == 2


def test_names_are_ids_or_names_and_two_with_one_name_are_told(cli: Cli, folder: Path) -> None:
    first = cli.json("kb", "create", "Manual", str(folder / "gastos.md"))["kb_id"]
    for arguments, code in (
        (("create", "Manual", str(folder)), "kb_name_taken"),
        (("create", "Otro", str(folder / "gastos.md")), "kb_same_documents"),
        (("list", "Nada"), "kb_not_found"),
        (("add", "Manual", str(folder), "--date", "ayer"), "kb_date_invalid"),
        (("move", "Manual", "gastos.md", "gastos.md"), ""),
        (("remove", "Manual", "gastos.md"), "kb_would_be_empty"),
        (("diff", "Manual", "9"), "kb_version_not_found"),
        (("describe", "Manual", "gastos.md"), "usage"),
        (("delete", "Manual"), "usage"),
    ):
        done = cli("kb", *arguments, "--json", code=2 if code else 0)
        assert one_object(done.stdout).get("error", {}).get("code", "") == code, arguments
    assert [kb["kb_name"] for kb in cli.json("kb", "list")["knowledge_bases"]] == ["Manual"]
    # Pages and `kb ask FILE` name by files, so two can have one name.
    (folder / "b").mkdir()
    for at, text in ((folder, HOLIDAYS), (folder / "b", TRAVEL)):
        (at / "x.md").write_text(text, "utf-8")
        cli("kb", "ask", str(at / "x.md"), "¿Cuántos días?")
    error = one_object(cli("kb", "list", "x.md", "--json", code=2).stdout)["error"]
    assert error["code"] == "kb_name_ambiguous"
    assert error["message"].count("x-") == 2
    assert cli.json("kb", "rename", first, "Gastos")["kb_name"] == "Gastos"
    assert one_object(cli("kb", "rename", first, "x.md", "--json", code=2).stdout)["error"]["code"] == "kb_name_taken"
    assert cli.json("kb", "delete", "Gastos", "--yes")["deleted"] == first
    cli("kb", "list", "Gastos", code=2)


@pytest.mark.slow
def test_two_processes_that_add_at_once_are_both_there(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    names = ["uno.md", "dos.md"]
    for name in names:
        (folder / name).write_text(f"# {name}\n\nTexto de {name}.\n", "utf-8")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: cli.process("kb", "add", "Manual", str(folder / name)), names))
    assert paths(cli) == sorted([*ALL, *names])
    assert cli.json("kb", "list", "Manual")["knowledge_base"]["version"] == 3


@pytest.mark.slow
def test_ctrl_c_leaves_the_version_before_and_the_same_command_continues(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder))
    many = folder.parent / "muchos"
    many.mkdir()
    for number in range(40):
        text = "".join(f"<p>Párrafo {number} {row} de un texto largo.</p>" for row in range(50))
        (many / f"{number}.html").write_text(f"<html><body><h1>{number}</h1>{text}</body></html>", "utf-8")
    arguments = [sys.executable, "-m", "chatbot_mvp.cli", "kb", "add", "Manual", str(many)]
    with subprocess.Popen(
        arguments, cwd=cli.folder, env=cli.environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()  # it reads the files
        process.send_signal(signal.SIGINT)
        process.stderr.read()
    assert process.returncode == 130
    assert paths(cli) == ALL
    assert cli.json("kb", "add", "Manual", str(many))["counts"] == {"added": 40}


def test_a_knowledge_base_that_cannot_be_read_is_named_by_the_list(cli: Cli, folder: Path) -> None:
    made = [
        cli.json("kb", "create", name, str(folder / file))["kb_id"]
        for name, file in (("A", "gastos.md"), ("B", "viajes"))
    ]
    (cli.data / "kb" / made[0] / "kb.json").write_text('{"format_version": 99}', "utf-8")
    for name in ("kb.json", "kb.json.copy"):
        (cli.data / "kb" / made[1] / name).write_text("{", "utf-8")
    whole = cli.json("kb", "create", "C", str(folder / "gastos.md"))["kb_id"]
    told = cli("kb", "list", "--json", code=6)
    found = one_object(told.stdout)
    assert ([row["kb_id"] for row in found["knowledge_bases"]], found["damaged"]) == ([whole], [])
    reasons = {row["kb_id"]: row["reason"] for row in found["left_out"]}
    assert set(reasons) == set(made)
    assert "written by a later version" in reasons[made[0]]
    assert (cli.data / "kb" / made[0] / "kb.json").read_text(
        "utf-8"
    ) == '{"format_version": 99}'  # of C's document, too
    assert all(f"left out: {kb_id}: " in told.stderr for kb_id in made)
    assert f"C ({whole}): version 1" in cli("kb", "list", code=6).stdout


def test_what_is_damaged_is_named_by_the_list_and_with_an_answer(cli: Cli, folder: Path) -> None:
    kb_id = cli.json("kb", "create", "Manual", str(folder))["kb_id"]
    (cli.data / "kb" / kb_id / "kb.json").write_text("{", "utf-8")
    [row] = [one for one in cli.json("kb", "list", "Manual")["documents"] if one["path"] == "gastos.md"]
    (cli.data / "kb" / kb_id / "texts" / f"{row['sha256']}.txt").write_text("", "utf-8")
    files = ["kb.json", f"texts/{row['sha256']}.txt"]
    told = cli("kb", "list", "--json", code=6)
    assert one_object(told.stdout)["damaged"] == [{"kb_id": kb_id, "files": files, "documents": ["gastos.md"]}]
    assert f"damaged: {kb_id}: 2 files cannot be read: " in told.stderr
    told = cli("kb", "ask", "Manual", "¿Qué dietas hay?", "--json")
    assert one_object(told.stdout)["left_out"] == {kb_id: ["gastos.md"]}
    assert "documents that cannot be read are left out: gastos.md" in told.stderr


def test_a_folder_of_caches_that_cannot_be_written_costs_vectors_and_no_answer(cli: Cli, folder: Path) -> None:
    cli("kb", "create", "Manual", str(folder), "--no-vectors")
    shutil.rmtree(cli.data / "cache", ignore_errors=True)
    (cli.data / "cache").write_text("")  # as a folder that root may not write either
    cli.env["RETRIEVAL_STRATEGY"] = "BRIDGE_HYBRID"
    done = cli.process("kb", "ask", "Manual", "¿Cuántos días laborables de vacaciones hay?")
    assert "23 días laborables" in done.stdout
    assert "The question is asked by words alone. The cache" in done.stderr
