"""Documents, drafts and history on the pages, through AppTest with real parts behind it."""

from __future__ import annotations

import re
import threading
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.api import AnswerRecord, Describe, FilePlace, KbRecord, Source
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.knowledge_base import intake, store
from chatbot_mvp.knowledge_base.telling import lacks
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.types import Chunk
from streamlit_app.chat.outcomes import source_count
from streamlit_app.knowledge_bases import documents
from streamlit_app.knowledge_bases.document_page import losses_of
from streamlit_app.knowledge_bases.upload_progress import pages_of
from streamlit_app.shared.i18n import ago, moment
from streamlit_app.shared.state import get_app
from tests.raising import raises
from tests.ui.test_knowledge_bases import upload
from tests.ui.test_pages import PAGES, open_page, texts
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("data_dir")


def kept(*paths: str) -> KbRecord:
    files = [new(path, f"# {path}\n\nEl texto de {path} es breve.\n") for path in paths]
    return get_app().kbs.store.keep(files, 100_000, "normas")


def new(path: str, text: str) -> NewDocument:
    return NewDocument(path, ParsedText(text, "utf-8", len(text), False), text.encode())


def opened(record: KbRecord, view: str = "documents") -> AppTest:
    page = open_page("admin")
    page.button(key=f"look-{record.kb_id}").click().run()
    page.segmented_control(key=f"view-{record.kb_id}").set_value(view).run()
    assert not page.exception, page.exception
    return page


def pressed(page: AppTest, key: str) -> AppTest:
    page.button(key=key).click().run()
    assert not page.exception, page.exception
    return page


def test_the_second_of_two_visitors_is_told_and_sees_what_the_first_did() -> None:
    record = kept("a.md", "b.md")
    page = pressed(opened(record), f"open-{record.kb_id}-a.md")
    page.segmented_control(key=f"kb-document-view-{record.kb_id}").set_value("about").run()
    page.text_input(key=f"about-title-{record.kb_id}-a.md-{record.version}").set_value("Mío").run()
    get_app().kb_changes.change(record.kb_id, [Describe("a.md", {"title": "Suyo"})])
    page = pressed(page, f"about-now-{record.kb_id}")
    assert "Otra persona ha cambiado entretanto «a.md»" in page.error[0].value
    assert "Suyo" in texts(page)
    assert get_app().kb_documents.find(record.kb_id, "a.md").title == "Suyo"


def test_changes_of_two_visitors_to_different_documents_are_both_there() -> None:
    record = kept("a.md", "b.md")
    changes = get_app().kb_changes
    changes.change(record.kb_id, [Describe("a.md", {"title": "Suyo"})])
    changes.change(record.kb_id, [Describe("b.md", {"title": "Mío"})], base=record.version)
    assert [one.title for one in changes.documents(record.kb_id)] == ["Suyo", "Mío"]
    with raises("kb_changed_meanwhile"):
        changes.change(record.kb_id, [Describe("a.md", {"title": "Otro"})], base=record.version)


def test_what_is_removed_in_a_draft_is_gone_when_it_is_published() -> None:
    record = kept("a.md", "b.md", "rrhh/c.md")
    page = opened(record)
    page.checkbox(key=f"pick-{record.kb_id}-0-b.md").check().run()
    page = pressed(page, f"remove-stage-{record.kb_id}")
    assert "Hay un borrador" in texts(page)
    changes = get_app().kb_changes
    assert len(changes.documents(record.kb_id)) == 3
    page = pressed(page, f"publish-{record.kb_id}")
    assert "Hay un borrador" not in texts(page)
    assert [one.path for one in changes.documents(record.kb_id)] == ["a.md", "rrhh/c.md"]


def test_every_document_cannot_be_removed_and_the_page_says_why() -> None:
    record = kept("a.md", "b.md")
    page = pressed(opened(record), f"all-{record.kb_id}")
    page = pressed(page, f"remove-now-{record.kb_id}")
    assert "se quedaría sin documentos" in page.error[0].value


def test_a_version_that_is_not_kept_is_shown_as_such_and_any_other_is_restored(data_dir: Path) -> None:
    record = kept("a.md", "b.md")
    changes = get_app().kb_changes
    second = changes.change(record.kb_id, new=[new("a.md", "# A\n\nEl texto es ahora otro.\n")])
    changes.change(record.kb_id, [Describe("a.md", {"tags": ("x",)})])
    [path] = data_dir.rglob(f"{second.version}.json")
    path.unlink()
    page = opened(record, "history")
    assert texts(page).count("no se conserva") == 1
    assert f"restore-{record.kb_id}-2" not in [button.key for button in page.button]
    page = pressed(page, f"restore-{record.kb_id}-1")
    assert "la base está en la versión 4" in texts(page)
    assert "El texto de a.md es breve." in get_app().kb_documents.text(record.kb_id, "a.md")


def test_chat_adds_to_the_knowledge_base_that_is_asked_unless_it_is_the_sample() -> None:
    sample = get_app().kbs.add_sample()
    assert open_page("chat").radio(key="kb_target-chat").value == "new"
    get_app().kbs.delete(sample.kb_id)
    record = kept("a.md", "rrhh/b.md")
    chat = open_page("chat")
    assert chat.radio(key="kb_target-chat").value == "current"
    again = get_app().kb_documents.original(record.kb_id, "a.md")
    more = b"# C\n\nEl comedor abre a las dos.\n"
    shown = texts(upload(chat, ("a.md", again), ("b.md", b"# B\n\nEl texto es otro.\n"), ("c.md", more)))
    assert "igual: ya estaba así" in shown
    assert "**rrhh/b.md** · sustituido" in shown  # the only document of that name, as the list of documents does
    assert "**c.md** · añadido" in shown
    [only] = get_app().kbs.records()
    assert only.files == ("a.md", "c.md", "rrhh/b.md")


def test_what_an_upload_changed_is_one_click_away_and_the_history_names_it() -> None:
    record = kept("a.md", "rrhh/b.md")
    chat = upload(open_page("chat"), ("b.md", b"# B\n\nEl texto es otro.\n"), ("c.md", b"# C\n\nAbre a las dos.\n"))
    page = pressed(chat, "kb-see")
    assert "añadidos: 1 (c.md) · con otro texto: 1 (rrhh/b.md)" in texts(page)
    assert "añadidos: 2 (a.md, rrhh/b.md)" in texts(page)
    assert page.toggle(key=f"look-{record.kb_id}-2").value
    assert "El texto es otro." in re.sub("<[^>]*>", "", texts(page))


def test_the_history_shows_rows_of_tables_without_their_signs() -> None:
    table = "# Tarifas\n\n| Pase | Precio |\n|---|---|\n| Mes | {} |\n"
    record = get_app().kbs.store.keep([new("a.md", table.format("30 €"))], 100_000, "normas")
    get_app().kb_changes.change(record.kb_id, new=[new("a.md", table.format("35 €"))])
    page = opened(record, "history")
    page.toggle(key=f"look-{record.kb_id}-2").set_value(True).run()
    shown = texts(page)
    assert "Mes · <ins>35</ins> €" in shown and "| Mes" not in shown and "---" not in shown


def test_a_rename_is_no_version_and_neither_it_nor_an_undone_deletion_is_an_update(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = kept("a.md", "b.md")
    kbs, changes = get_app().kbs, get_app().kb_changes
    updated = moment(record.added_at)
    monkeypatch.setattr(store, "utc_now", lambda: "2031-05-06T07:08:09.000+00:00")
    kbs.rename(record.kb_id, "Otras normas")
    kbs.delete(record.kb_id, undoable=True)
    kbs.undelete(record.kb_id)
    assert f"actualizada el {updated}" in texts(open_page("admin"))
    changes.change(record.kb_id, [Describe("a.md", {"title": "A"})])
    assert [(step.entry.what, step.entry.number, step.current) for step in changes.history(record.kb_id)] == [
        ("changed", 2, True),
        ("renamed", 1, False),
        ("created", 1, False),
    ]
    page = opened(record, "history")
    assert [button.label for button in page.button if str(button.key).startswith("restore-")] == [
        "Restaurar la versión 1"
    ]


def test_a_base_has_as_many_characters_as_its_documents() -> None:
    record = kept("a.md", "b.md")
    chars = sum(one.original_chars for one in get_app().kb_changes.documents(record.kb_id))
    assert f"2 archivos · 2 fragmentos · {chars} caracteres" in texts(open_page("admin"))


def test_the_open_documents_have_the_only_box_and_it_asks_the_same() -> None:
    record = kept("a.md", "rrhh/b.md")
    for page, place in ((open_page("admin"), "admin-"), (opened(record), f"documents-{record.kb_id}")):
        [box] = [one for one in page.file_uploader if str(one.key).startswith("kb_upload-")]
        assert str(box.key).startswith(f"kb_upload-{place}")
    target = page.radio(key="kb_target-documents")
    assert (target.value, len(target.options)) == ("current", 2)
    target.set_value("new").run()
    assert "Guardar como borrador" not in [toggle.label for toggle in page.toggle]
    upload(page, ("d.md", b"# D\n\nLa piscina abre en junio.\n"))
    assert [one.files for one in get_app().kbs.records()] == [("d.md",), ("a.md", "rrhh/b.md")]


def test_a_folder_keeps_its_paths_and_what_is_not_read_of_it_is_named() -> None:
    record = kept("a.md")
    chat = open_page("chat")
    chat.radio(key="kb_target-chat").set_value("current").run()
    files = [
        (name, f"# Un título\n\nEs {name}.\n".encode()) for name in ("rrhh/b.md", "rrhh/foto.png", "rrhh/.DS_Store")
    ]
    shown = texts(upload(chat, *files))
    assert "no se leen, por su formato: 1 (rrhh/foto.png)" in shown and "DS_Store" not in shown
    assert [one.path for one in get_app().kb_changes.documents(record.kb_id)] == ["a.md", "rrhh/b.md"]


def test_who_may_not_change_a_knowledge_base_may_make_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kept("a.md")
    monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
    get_app.clear()
    assert list(open_page("chat").radio(key="kb_target-chat").options) == ["A una base nueva"]


def test_a_document_without_its_original_says_so() -> None:
    text = "# Solo texto\n\nEl archivo no se guardó.\n"
    record = get_app().kbs.store.keep([("a.md", ParsedText(text, "utf-8", len(text), False))], 100_000)
    page = pressed(opened(record), f"open-{record.kb_id}-a.md")
    page.segmented_control(key=f"kb-document-view-{record.kb_id}").set_value("original").run()
    assert "No se conserva el archivo original" in "\n".join(info.value for info in page.info)


def test_a_document_says_what_of_its_file_is_not_in_its_text() -> None:
    lost = {"struck": 1, "hidden": 2_000, "pictures": 1}
    text = ParsedText("# Uno\n\nEl texto.\n", "utf-8", 17, False, empty_pages=1, lost=lost)
    record = get_app().kbs.store.keep(
        [NewDocument("a.md", text, b"x"), new("b.md", "# B\n\nDos.\n")], 100_000, "normas"
    )
    page = pressed(opened(record), f"open-{record.kb_id}-a.md")
    said = "2.000 palabras ocultas, 1 imagen, 1 palabra tachada, 1 página sin texto, quizá una imagen"
    assert f"Lo que tiene el archivo y no está en el texto: {said}." in texts(page)
    assert losses_of(get_app().kb_documents.find(record.kb_id, "b.md")) == ""
    assert [pages_of(count) for count in (1, 2)] == ["1 página", "2 páginas"]


def test_the_list_marks_the_documents_that_could_not_be_read_whole() -> None:
    losses = {"a.md": {"charts": 1}, "b.md": {"hidden": 3, "pictures": 1, "menus": 9}, "c.md": {}}
    files = [
        NewDocument(path, ParsedText(f"# {path}\n\nDos.\n", "utf-8", 14, False, lost=lost))
        for path, lost in losses.items()
    ]
    page = opened(get_app().kbs.store.keep(files, 100_000, "normas"))
    marked = [line.value.split("**")[1] for line in page.markdown if "no se pudo leer todo" in line.value]
    assert marked == ["a.md"]


def test_an_answer_names_the_sources_that_could_not_be_read_whole() -> None:
    text = "# Uno\n\nEl texto.\n"
    losses = {"a.md": {"charts": 1}, "b.md": {"hidden": 3, "pictures": 1, "menus": 9}, "c.md": {"bytes": 2}}
    files = [
        NewDocument(path, ParsedText(f"{text}{path}", "utf-8", 17, False, lost=lost)) for path, lost in losses.items()
    ]
    record = get_app().kbs.store.keep(files, 100_000, "normas")
    sources = [
        Source(number, Chunk("x", record.kb_id, "Uno", text, 0, len(text)), (), FilePlace(path, None, 1, version))
        for number, (path, version) in enumerate([*((path, record.version) for path in losses), ("a.md", "nada")], 1)
    ]
    answer = cast(AnswerRecord, SimpleNamespace(sources=sources))
    assert source_count(answer) == ("4 fuentes", "no se pudo leer todo de a.md, c.md")
    answer = cast(AnswerRecord, SimpleNamespace(sources=[sources[1], sources[3]]))
    assert source_count(answer) == ("2 fuentes", "")


def test_a_page_that_could_not_be_read_counts_only_for_what_stands_beside_it() -> None:
    pages = ["Uno.\n\n", "", "Tres.\n\n", "Cuatro.\n\n", "Cinco.\n\n", "Seis.", ""]
    starts = tuple(accumulate(map(len, pages[:-1]), initial=0))
    files = [
        NewDocument(path, ParsedText("".join(pages), ".pdf", len("".join(pages)), False, starts, 2, lost))
        for path, lost in {"a.pdf": {}, "b.pdf": {"embedded": 1}}.items()
    ]
    record = get_app().kbs.store.keep(files, 100_000, "normas")
    found, other = (get_app().kb_documents.find(record.kb_id, path) for path in ("a.pdf", "b.pdf"))
    assert [page for page in range(1, 8) if lacks(found, page)] == [1, 2, 3, 6, 7]
    assert lacks(found)
    assert lacks(other, 4)


def test_ages_are_said_in_whole_units() -> None:
    from datetime import UTC, datetime, timedelta

    def before(**length: float) -> str:
        return ago((datetime.now(UTC) - timedelta(**length)).isoformat())

    assert [before(seconds=5), before(minutes=1.5), before(hours=5.2), before(days=3.1), before(days=400)] == [
        "hace un momento", "hace 1 minuto", "hace 5 horas", "hace 3 días", "hace 1 año"
    ]  # fmt: skip
    assert ago("no time") == ""


def test_a_job_that_ends_while_the_page_is_drawn_leaves_no_page_without_its_draft(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = kept("a.md", "b.md")
    page = opened(record)
    uploads, drawn, parse, shown = get_app().uploads, documents.show_draft, intake.parse_upload, threading.Event()

    def parse_upload(name: str, *rest: object) -> ParsedText:
        shown.wait(60)
        return parse(name, *rest)  # type: ignore[arg-type]

    def show_draft(record: KbRecord) -> str:
        said = drawn(record)  # there is no draft yet; the panel below finds the job ended
        shown.set()
        wait_until(lambda: not uploads.upload(job_id).job.active, 60, "the end of the upload")  # type: ignore[union-attr]
        return said

    monkeypatch.setattr(intake, "parse_upload", parse_upload)
    monkeypatch.setattr(documents, "show_draft", show_draft)
    job_id = uploads.add_to(record.kb_id, [("c.md", b"# C\n\nUn texto nuevo.\n")], stage=True)
    page.session_state["kb_job"] = job_id
    page.run()
    assert not page.exception, page.exception
    assert f"publish-{record.kb_id}" in [button.key for button in page.button]


def test_while_files_are_read_the_one_that_is_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    page, parse, shown = open_page("chat"), intake.parse_upload, threading.Event()

    def parse_upload(name: str, *rest: object) -> ParsedText:
        if name == "b.md":
            shown.wait(60)
        return parse(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(intake, "parse_upload", parse_upload)
    owner, uploads = str(page.session_state["chat_session"]), get_app().uploads
    job_id = uploads.take([("a.md", b"# A\n\nUno.\n"), ("b.md", b"# B\n\nDos.\n")], owner=owner)
    page.session_state["kb_job"] = job_id
    wait_until(lambda: uploads.upload(job_id).files[1].stage == "reading", 60, "the first file")  # type: ignore[union-attr]
    said = texts(page.run())
    shown.set()
    assert "**b.md** · leyendo… · en marcha" in said
    wait_until(lambda: not uploads.upload(job_id).job.active, 60, "the end")  # type: ignore[union-attr]


def test_the_notice_of_an_upload_goes_with_the_next_question_and_on_the_next_page() -> None:
    record, uploads = kept("a.md"), get_app().uploads
    page = open_page("chat")

    def noticed() -> bool:
        page.run()
        return "kbdismiss" in [button.key for button in page.button]

    ways = (lambda: page.chat_input[0].set_value("¿Qué hay?"), lambda: page.switch_page(str(PAGES["admin"])))
    for number, go_on in enumerate(ways):
        owner = str(page.session_state["chat_session"])
        job_id = uploads.add_to(record.kb_id, [(f"{number}.md", b"# Otro\n\nTexto.\n")], owner)
        page.session_state["kb_job"] = job_id
        wait_until(lambda job_id=job_id: not uploads.upload(job_id).job.active, 60, "the end")  # type: ignore[misc]
        assert noticed() and noticed()
        go_on()
        assert not noticed()
    assert not page.exception, page.exception
