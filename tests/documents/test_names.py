"""Names of files and knowledge bases: cleaned, never a path, never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.names import MAX_NAME, clean_file_name, clean_name
from chatbot_mvp.settings.model import Settings
from tests.documents.made import docx_with
from tests.knowledge_base.test_service import wait
from tests.raising import raises

NAMES = {
    "man\x00ual.md": "manual.md",
    "manual.md\x00": "manual.md",
    "../../etc/manual.md": "manual.md",
    "/etc/passwd/manual.md": "manual.md",
    "C:\\Windows\\..\\manual.md": "manual.md",
    "\\\\server\\share\\manual.md": "manual.md",
    "manual\u202edm.exe.md": "manualdm.exe.md",
    "man\u200bual\ufeff.md": "manual.md",
    "  manual \n de\ttaller .md ": "manual de taller .md",
    "manual\ud800.md": "manual.md",
    "man\u0303ana.md": "mañana.md",
    "CON.md": "CON.md",
    "👩\u200d🔧 taller.md": "👩🔧 taller.md",
    "x" * 300 + ".md": "x" * (MAX_NAME - 3) + ".md",
    "....md": "....md",
    "𝕏.md": "𝕏.md",
    "": "",
    "\x00": "",
    "/": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_name_is_cleaned(name: str) -> None:
    assert clean_file_name(name) == NAMES[name]
    assert clean_file_name(clean_file_name(name)) == NAMES[name]
    assert clean_name(NAMES[name]) == NAMES[name]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    folder = tmp_path_factory.mktemp("names")
    return build_app(Settings(data_dir=folder, retrieval_strategy="LEXICAL", provider="demo"))


@pytest.mark.parametrize("name", [name for name in NAMES if NAMES[name]])
def test_an_upload_with_any_name_is_kept_in_its_folder_under_a_clean_name(app: App, name: str) -> None:
    before = set(app.settings.data_dir.parent.iterdir())
    upload = wait(app, app.uploads.take([(name, f"Texto de {NAMES[name]}.".encode())]))
    assert (upload.job.state, upload.job.title, upload.files[0].name) == ("done", NAMES[name], NAMES[name])
    record = app.kbs.store.record(upload.kb_id)
    assert (record.kb_name, record.files) == (NAMES[name], (NAMES[name],))
    assert (app.settings.kb_dir / record.kb_id).parent == app.settings.kb_dir
    assert set(app.settings.data_dir.parent.iterdir()) == before
    assert Path(record.kb_id).name.split("-")[-1].isalnum()


@pytest.mark.parametrize("name", ["-gu\x00ia\ud800.docx"])
def test_a_name_reaches_the_reading_process_clean(app: App, name: str) -> None:
    upload = wait(app, app.uploads.take([(name, docx_with(("Normal", "Un texto.")))]))
    assert (upload.job.state, upload.files[0].stage) == ("done", "indexed")


@pytest.mark.parametrize("name", ["", "\x00", "/", "manual.exe\u202e", ".md", "manual.md/"])
def test_a_name_without_a_known_suffix_is_refused(app: App, name: str) -> None:
    with raises("upload_type_unsupported"):
        app.kbs.add(name, b"Un texto.")


def test_two_files_whose_names_become_equal_are_both_kept(app: App) -> None:
    upload = wait(app, app.uploads.take([("a/uno.md", b"Uno."), ("b\\uno.md", b"Dos.")], "Los\u202e dos\x00"))
    assert app.kbs.store.record(upload.kb_id).kb_name == "Los dos"
    text = app.kbs.document(upload.kb_id).text
    assert [text[file.start : file.end] for file in app.kbs.store.files(upload.kb_id)] == ["Uno.", "Dos."]


def test_a_new_name_is_cleaned_and_a_blank_one_changes_nothing(app: App) -> None:
    kb_id = app.kbs.add("nombre.md", b"Un texto para cambiar de nombre.").kb_id
    app.kbs.rename(kb_id, " Mis\n\x00 normas\u202e ")
    app.kbs.rename(kb_id, "\u200b \x00")
    assert app.kbs.store.record(kb_id).kb_name == "Mis normas"


def test_text_with_lone_surrogates_can_be_stored(app: App) -> None:
    from chatbot_mvp.documents.reading.extracted import clean_line, clean_text

    assert (clean_line("a\ud800b"), clean_text("a\udfffb")) == ("ab", "ab")
