"""Files become a knowledge base in the background; what it holds, its name, a new index."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import KbNotFound
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.settings.model import load_settings
from tests.documents.made import docx_with, pdf
from tests.knowledge_base.uploading import wait, words_app
from tests.waiting import wait_until

DOCX = docx_with(
    ("Heading 1", "Ayuda de comedor"),
    ("Normal", "La empresa paga once euros por cada día de comedor."),
)
PDF = pdf([[("Gastos de viaje", 18.0), ("El kilómetro se paga a veintiséis céntimos.", 11.0)]])


@pytest.fixture
def app(tmp_path: Path) -> App:
    return words_app(tmp_path)


@pytest.mark.slow
def test_files_of_one_upload_are_one_kb_and_each_has_its_state(app: App) -> None:
    files = [("comedor.docx", DOCX), ("viajes.pdf", PDF), ("copia.docx", DOCX), ("roto.pdf", b"%PDF-1.4 x")]
    upload = wait(app, app.uploads.take(files))
    assert upload.job.state == "done"
    assert [state.stage for state in upload.files] == ["indexed", "indexed", "duplicate", "failed"]
    assert upload.files[1].pages == 1
    assert upload.files[2].same_as == "comedor.docx"
    assert (upload.files[3].code, upload.files[3].params["name"]) == ("upload_damaged", "roto.pdf")
    [record] = app.kbs.records()
    assert (record.kb_id, record.kb_name) == (upload.kb_id, "Ayuda de comedor y 1 más")
    [source, *_] = app.answering.ask(record.kb_id, "¿A cuánto se paga el kilómetro?").sources
    assert source.chunk.section == "viajes > Gastos de viaje"
    place = app.kbs.place(record.kb_id, source.highlights[0][0])
    assert place is not None
    assert (place.file, place.page) == ("viajes.pdf", 1)


def test_an_upload_of_nothing_that_can_be_used_leaves_no_kb(app: App) -> None:
    upload = wait(app, app.uploads.take([("a.txt", b" "), ("b.exe", b"x")]))
    assert [state.code for state in upload.files] == ["upload_empty", "upload_type_unsupported"]
    assert (upload.job.state, upload.kb_id, app.kbs.records()) == ("done", "", [])


def test_a_stop_leaves_nothing_and_says_so_of_each_file(app: App) -> None:
    many = pdf([[("Una línea de texto cualquiera para leer", 11.0)] * 45] * 400)
    job_id = app.uploads.take([("largo.pdf", many), ("comedor.docx", DOCX)])
    wait_until(lambda: app.uploads.uploads()[0].files[0].stage != "waiting", 60, "the first file's turn")
    app.uploads.stop(job_id)
    upload = wait(app, job_id)
    assert upload.job.state == "stopped"
    assert [state.stage for state in upload.files] == ["stopped", "stopped"]
    assert app.kbs.records() == []


def test_a_stop_while_indexing_deletes_what_was_kept(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    from chatbot_mvp.errors import RunStopped

    def build(kb_id: str, progress: object) -> None:
        raise RunStopped(run_id=kb_id)

    monkeypatch.setattr(app.kbs, "growing", build)
    upload = wait(app, app.uploads.take([("comedor.docx", DOCX)]))
    assert (upload.job.state, upload.files[0].stage, app.kbs.records()) == ("stopped", "stopped", [])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("error", [RuntimeError("index"), OSError("disk full"), MemoryError()])
def test_any_failure_of_the_index_leaves_what_was_there_before(
    app: App, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    first = wait(app, app.uploads.take([("comedor.docx", DOCX)], "Comedor"))
    before = {path: path.read_bytes() for path in app.settings.kb_dir.rglob("*") if path.is_file()}

    def build(kb_id: str, progress: object) -> None:
        raise error

    monkeypatch.setattr(app.kbs, "growing", build)
    again = wait(app, app.uploads.take([("comedor.docx", DOCX)], "Otro nombre"))
    other = wait(app, app.uploads.take([("viajes.pdf", PDF)]))
    assert [upload.job.state for upload in (again, other)] == ["failed", "failed"]
    assert [upload.files[0].stage for upload in (again, other)] == ["stopped", "stopped"]
    assert [(record.kb_id, record.kb_name) for record in app.kbs.records()] == [(first.kb_id, "Comedor")]
    assert {path: path.read_bytes() for path in app.settings.kb_dir.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_a_disk_that_is_full_while_files_are_kept_leaves_what_was_there_before(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait(app, app.uploads.take([("comedor.docx", DOCX)], "Comedor"))
    before = {path: path.read_bytes() for path in app.settings.kb_dir.rglob("*") if path.is_file()}

    def full(self: object, record: KbRecord) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(KbStore, "_write_head", full)
    again = wait(app, app.uploads.take([("comedor.docx", DOCX)], "Otro nombre"))
    other = wait(app, app.uploads.take([("viajes.pdf", PDF)]))
    assert [upload.job.state for upload in (again, other)] == ["failed", "failed"]
    assert {path: path.read_bytes() for path in app.settings.kb_dir.rglob("*") if path.is_file()} == before
    assert not any(path.is_dir() and not any(path.iterdir()) for path in app.settings.kb_dir.iterdir())


def test_files_over_the_limit_of_all_together_are_told(tmp_path: Path) -> None:
    app = words_app(tmp_path, kb_max_chars=1_000)
    long = "Un párrafo cualquiera.\n\n" * 60
    upload = wait(app, app.uploads.take([("largo.txt", long.encode()), ("otro comedor.docx", DOCX)]))
    assert [(state.stage, state.cut, state.code) for state in upload.files] == [
        ("indexed", True, ""),
        ("failed", False, "upload_no_room"),
    ]
    assert app.kbs.records()[0].kb_truncated
    assert app.kbs.records()[0].chars <= 1_000


def test_a_new_index_answers_as_the_old_one_and_was_built_anew(app: App) -> None:
    record = app.kbs.add("comedor.docx", DOCX)
    question = "¿Cuánto paga la empresa por el comedor?"
    before = app.answering.ask(record.kb_id, question)
    pipeline = app.kbs.pipeline(record.kb_id)
    upload = wait(app, app.uploads.reindex(record.kb_id))
    assert (upload.job.state, upload.kb_id, upload.files) == ("done", record.kb_id, ())
    again = app.kbs.pipeline(record.kb_id)
    assert again is not pipeline
    assert again.index.kb is not pipeline.index.kb and again.index.lexical is not pipeline.index.lexical
    assert app.answering.ask(record.kb_id, question).text == before.text
    with pytest.raises(KbNotFound):
        app.uploads.reindex("nada-00000000")


def test_repeated_chunks_are_counted_and_a_name_is_changed(app: App) -> None:
    same = "Cada turno empieza con el parte de seguridad firmado por la persona responsable."
    text = f"# Uno\n\n{same}\n\n# Dos\n\n{same}\n\n# Tres\n\nOtra cosa."
    record = app.kbs.add("turnos.md", text.encode())
    contents = app.kbs.contents(record.kb_id)
    assert len(contents.chunks) == record.chunks == 3
    assert [(item.chunk.section, item.times) for item in contents.repeated] == []
    twice = app.kbs.add("dos.md", f"# Uno\n\n{same}\n\n# Uno\n\n{same}".encode())
    [item] = app.kbs.contents(twice.kb_id).repeated
    assert (item.chunk.section, item.times) == ("Uno", 2)
    app.kbs.rename(record.kb_id, "  Turnos   de 2026 ")
    app.kbs.rename(record.kb_id, "   ")
    assert {kb.kb_name for kb in app.kbs.records()} == {"Turnos de 2026", "dos.md"}


@pytest.mark.slow
def test_strict_mode_answers_the_questions_that_are_suggested_for_the_sample(tmp_path: Path) -> None:
    """With vectors: by words alone one of them has no proof, and shows its passage as the nearest."""
    app = build_app(load_settings(data_dir=tmp_path))
    record = app.kbs.add_sample()
    app.kbs.pipeline(record.kb_id)  # waits for the vectors
    questions = app.kbs.suggested_questions(record.kb_id)
    assert len(questions) == 4
    assert [question for question in questions if app.answering.ask(record.kb_id, question).abstained] == []


def test_the_states_of_the_last_twenty_uploads_are_kept(app: App, tmp_path: Path) -> None:
    for n in range(23):
        wait(app, app.uploads.take([(f"{n}.txt", b" ")]))
    assert len(list((tmp_path / "kb_jobs").glob("*.files"))) <= 21
