"""Whatever is done to the documents of a knowledge base, in whatever order, it is what its documents make of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.errors import ChatbotError, KbChangeError
from chatbot_mvp.knowledge_base.changes import Change, Describe, Move, Remove
from chatbot_mvp.knowledge_base.gathering import Given, given_contents
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import KEPT, NewDocument
from chatbot_mvp.settings.model import Settings
from tests.raising import raises

LIMIT = 10_000
PATHS = ("a.md", "b.md", "rrhh/a.md", "rrhh/c.txt")
TEXTS = ("# Uno\n\nEl faro abre a las nueve.", "Sin título, solo texto.", "```\nsin cerrar", "# Uno\n\n## Dos\n\nTres.")


@pytest.fixture
def app(settings: Settings) -> App:
    return build_app(settings.with_changes(retrieval_strategy="LEXICAL"))


def new(path: str, text: str) -> NewDocument:
    return NewDocument(path, ParsedText(text, "utf-8", len(text), False), text.encode())


def made(app: App, *documents: tuple[str, str]) -> str:
    return app.kbs.store.keep([new(*one) for one in documents], LIMIT).kb_id


def texts(app: App, kb_id: str, version: str = "") -> dict[str, str]:
    return {one.path: app.kbs.store.text_of(kb_id, one) for one in app.kb_changes.documents(kb_id, version)}


_PUT = st.tuples(st.sampled_from(PATHS), st.sampled_from(TEXTS)).map(lambda pair: new(*pair))
_OTHER = st.one_of(
    st.sampled_from((*PATHS, "rrhh/")).map(Remove),
    st.tuples(st.sampled_from((*PATHS, "rrhh/")), st.sampled_from((*PATHS, "otra/"))).map(lambda pair: Move(*pair)),
    st.sampled_from(PATHS).map(lambda path: Describe(path, {"title": "Un título", "tags": ("x",)})),
)
_STEPS = st.lists(st.one_of(_PUT, _OTHER, st.integers(1, 5)), max_size=12)


@pytest.mark.sampled(1)
@settings(max_examples=max(10, settings().max_examples // 2))
@given(_STEPS)
def test_after_any_steps_the_text_is_that_of_a_knowledge_base_made_at_once(
    tmp_path_factory: pytest.TempPathFactory, steps: Sequence[NewDocument | Change | int]
) -> None:
    from chatbot_mvp.settings.model import load_settings

    folder = tmp_path_factory.mktemp("living")
    app = build_app(load_settings(data_dir=folder / "one", provider="demo", retrieval_strategy="LEXICAL"))
    kb_id = made(app, ("a.md", TEXTS[0]))
    for step in steps:
        before = texts(app, kb_id)
        try:
            if isinstance(step, NewDocument):
                app.kb_changes.change(kb_id, new=[step])
            elif isinstance(step, int):
                app.kb_changes.restore(kb_id, str(step))
            else:
                app.kb_changes.change(kb_id, [step])
        except KbChangeError:
            assert texts(app, kb_id) == before
    now = app.kb_changes.documents(kb_id)
    there = [new(one.path, app.kbs.store.text_of(kb_id, one)) for one in now]
    once = KbStore(folder / "other")
    other = once.keep(there, app.settings.kb_max_chars)
    again = KbStore(folder / "one" / "kb")  # a process that has nothing in memory
    assert again.document(kb_id).text == app.kbs.document(kb_id).text == once.document(other.kb_id).text
    assert again.files(kb_id) == once.files(other.kb_id)
    same = ("sha256", "chars", "chunks", "language", "languages", "files", "kb_truncated", "original_chars", "encoding")
    for name in same:
        assert getattr(again.record(kb_id), name) == getattr(other, name)
    shutil.rmtree(folder)


def test_two_changes_at_once_are_both_there(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    names = [f"d{number}.md" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: app.kb_changes.change(kb_id, new=[new(name, f"Texto de {name}.")]), names))
    assert list(texts(app, kb_id)) == ["a.md", *names]
    assert [step.entry.number for step in app.kb_changes.history(kb_id)] == list(range(9, 0, -1))


def test_of_all_that_choose_one_name_at_once_one_gets_it(app: App) -> None:
    kb_ids = [made(app, (f"{row}.md", f"# {row}\n\nUn texto.")) for row in range(3)]
    files = [[(f"n{row}.md", f"# Nuevo {row}\n\nUn texto.".encode())] for row in range(3)]
    works: list[Callable[[], object]] = [partial(app.kbs.rename, kb_id, "Manual") for kb_id in kb_ids]
    works += [partial(app.kb_filing.create, "Manual", given_contents(one)) for one in files]

    def code_of(work: Callable[[], object]) -> str:
        try:
            work()
        except ChatbotError as error:
            return error.code
        return ""

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(code_of, works)) == ["", *["kb_name_taken"] * 5]
    assert [one.kb_name for one in app.kbs.records()].count("Manual") == 1


def test_of_two_changes_of_one_document_the_second_is_told(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    app.kb_changes.change(kb_id, new=[new("a.md", "La mía.")], stage=True)
    app.kb_changes.change(kb_id, new=[new("a.md", "La suya.")])
    with raises("kb_changed_meanwhile", match=r"a\.md"):
        app.kb_changes.publish(kb_id)
    assert texts(app, kb_id) == {"a.md": "La suya."}
    assert app.kb_changes.staged(kb_id) is not None


@pytest.mark.parametrize(
    ("mine", "theirs", "said"),
    [
        (Remove("b.md"), Move("b.md", "c.md"), ""),
        (Move("b.md", "c.md"), Remove("b.md"), ""),
        (Move("b.md", "c.md"), Move("b.md", "d.md"), ""),
        (Move("b.md", "c.md"), Move("b.md", "c.md"), "a.md c.md"),
        (Remove("b.md"), Remove("b.md"), "a.md"),
    ],
)
def test_a_document_that_one_removes_and_another_moves_is_told(
    app: App, mine: Remove | Move, theirs: Remove | Move, said: str
) -> None:
    """A purge of the place to which it came would else not know that it is the removed one."""
    kb_id = made(app, ("a.md", TEXTS[0]), ("b.md", TEXTS[1]))
    app.kb_changes.change(kb_id, [mine], stage=True)
    app.kb_changes.change(kb_id, [theirs])
    if said:  # both did the same, so nothing waits
        assert (" ".join(texts(app, kb_id)), app.kb_changes.staged(kb_id)) == (said, None)
    else:
        with raises("kb_changed_meanwhile", match=r"b\.md"):
            app.kb_changes.publish(kb_id)


def test_a_draft_is_asked_and_published_with_what_changed_meanwhile(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    draft = app.kb_changes.change(kb_id, new=[new("b.md", "El puerto cierra a las diez.")], stage=True)
    draft = app.kb_changes.change(kb_id, new=[new("c.md", "Otra cosa.")], stage=True)
    assert list(texts(app, kb_id)) == ["a.md"]
    [trace] = app.kbs.pipeline(kb_id, version=draft.version).retrieve(["¿Cuándo cierra el puerto?"])
    assert "diez" in trace.hits[0].chunk.text
    app.kb_changes.change(kb_id, new=[new("d.md", "Y otra.")])
    app.kb_changes.publish(kb_id, "Horarios")
    assert list(texts(app, kb_id)) == ["a.md", "b.md", "c.md", "d.md"]
    assert app.kb_changes.history(kb_id)[0].entry.what == "published"
    assert app.kb_changes.staged(kb_id) is None
    with raises("kb_nothing_staged"):
        app.kb_changes.drop(kb_id)


def test_two_changes_of_one_draft_at_once_are_both_there(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    names = [f"d{number}.md" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: app.kb_changes.change(kb_id, new=[new(name, f"De {name}.")], stage=True), names))
    staged = app.kb_changes.staged(kb_id)
    assert staged is not None
    assert list(texts(app, kb_id, staged.version_id)) == ["a.md", *names]
    app.kb_changes.publish(kb_id)
    assert list(texts(app, kb_id)) == ["a.md", *names]


def test_an_added_file_without_room_is_not_told_as_searched(settings: Settings) -> None:
    app = build_app(settings.with_changes(retrieval_strategy="LEXICAL", kb_max_chars=1_000))
    kb_id = made(app, ("a.md", "Un párrafo cualquiera.\n\n" * 60))
    job_id = app.uploads.add_to(kb_id, [("b.md", b"El faro abre a las nueve.")])
    found = app.uploads.upload(job_id)
    while found is not None and found.job.active:
        found = app.uploads.upload(job_id)
    assert found is not None
    assert [(file.stage, file.code) for file in found.files] == [("failed", "upload_no_room")]


def test_a_dropped_draft_leaves_no_text(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    app.kb_changes.change(kb_id, new=[new("b.md", "Un secreto.")], stage=True)
    app.kb_changes.drop(kb_id)
    kept = [path for path in (app.settings.kb_dir / kb_id).rglob("*") if path.is_file()]
    assert not any(b"secreto" in path.read_bytes() for path in kept)


def test_old_versions_stay_as_long_as_they_are_among_the_newest_or_something_refers_to_them(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    first = app.kbs.store.record(kb_id)
    second = app.kb_changes.change(kb_id, new=[new("b.md", "La segunda.")])
    app.kb_changes.references.append(lambda kb_id: [second.sha256])
    for number in range(KEPT + 3):
        app.kb_changes.change(kb_id, new=[new("b.md", f"La número {number}.")])
    kept = [step.entry.number for step in app.kb_changes.history(kb_id) if step.kept]
    assert kept == [*range(KEPT + 5, 5, -1), 2]
    assert app.kbs.document(kb_id, "2").text.endswith("La segunda.")
    with raises("kb_version_not_found", match=f"'1'.*2, 6, 7.*{KEPT + 5}"):
        app.kbs.document(kb_id, "1")
    with raises("kb_version_not_found", match=first.version):
        app.kbs.document(kb_id, first.version)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (Remove("z.md"), "kb_document_not_found"),
        (Remove("a.md"), "kb_would_be_empty"),
        (Move("z/", "y/"), "kb_document_not_found"),
        (Describe("z.md", {"title": "x"}), "kb_document_not_found"),
    ],
)
def test_a_change_that_cannot_be_made_changes_nothing(app: App, change: Change, code: str) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    before = app.kbs.store.record(kb_id)
    with raises(code, match=kb_id):
        app.kb_changes.change(kb_id, [change])
    assert app.kbs.store.record(kb_id) == before


def test_a_path_is_never_taken_by_a_move(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]), ("b.md", TEXTS[1]))
    with raises("kb_path_taken", match=r"b\.md"):
        app.kb_changes.change(kb_id, [Move("a.md", "b.md")])
    app.kb_changes.change(kb_id, [Move("a.md", "rrhh/"), Move("rrhh/", "personas/")])
    assert list(texts(app, kb_id)) == ["b.md", "personas/a.md"]


def test_a_replaced_document_keeps_its_metadata_and_an_equal_one_its_age(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    app.kb_changes.change(kb_id, [Describe("a.md", {"title": "Horario", "tags": ("sede",)})])
    [before] = app.kb_changes.documents(kb_id)
    app.kb_changes.change(kb_id, new=[new("a.md", TEXTS[0])])
    assert app.kb_changes.documents(kb_id) == (before,)
    app.kb_changes.change(kb_id, new=[new("a.md", "Otro.")])
    [after] = app.kb_changes.documents(kb_id)
    assert (after.title, after.tags) == ("Horario", ("sede",))
    assert after.updated_at > before.updated_at
    assert [one.entry.changed for one in app.kb_changes.history(kb_id)] == [1, 1, 0]


def test_what_a_file_says_of_itself_describes_it_until_people_say_otherwise_or_the_file_changes(app: App) -> None:
    def file_of(title: str, day: str = "2026-03-05") -> Given:
        return given_contents([("a.md", f"---\ntitle: {title}\ndate: {day}\ntags: [sede]\n---\n{TEXTS[0]}".encode())])

    def told() -> tuple[str, str, tuple[str, ...]]:
        [one] = app.kb_changes.documents(kb_id)
        return one.title, one.created, one.tags

    kb_id = app.kb_filing.create("Manual", file_of("Horario"), {"tags": ("propia",)}).record.kb_id
    assert told() == ("Horario", "2026-03-05", ("propia",))
    assert list(texts(app, kb_id).values()) == [TEXTS[0]]
    app.kb_changes.change(kb_id, [Describe("a.md", {"title": "Mío"})])
    app.kb_filing.add(kb_id, file_of("Horario"))
    app.kb_filing.reread(kb_id)
    assert told() == ("Mío", "2026-03-05", ("propia",))
    app.kb_filing.add(kb_id, file_of("Turnos", "2026-04-01"))
    assert told() == ("Turnos", "2026-04-01", ("sede",))


def test_the_differences_name_documents_and_paragraphs(app: App) -> None:
    kb_id = made(app, ("a.md", "Uno.\n\nDos.\n\nTres."), ("b.md", "Se va."), ("c.md", "Se muda."), ("d.md", "Igual."))
    changes = [Remove("b.md"), Move("c.md", "rrhh/c.md"), Describe("d.md", {"title": "Un título"})]
    app.kb_changes.change(kb_id, changes, [new("a.md", "Uno.\n\nDos y medio.\n\nTres."), new("e.md", "Llega.")])
    found = {one.path: one for one in app.kb_changes.difference(kb_id, "1")}
    assert {path: one.what for path, one in found.items()} == {
        "a.md": "changed",
        "b.md": "removed",
        "d.md": "described",
        "e.md": "added",
        "rrhh/c.md": "moved",
    }
    [paragraph] = found["a.md"].paragraphs
    assert (paragraph.before, paragraph.after) == (("Dos.",), ("Dos y medio.",))
    assert found["rrhh/c.md"].before == "c.md"


def test_the_quota_of_a_knowledge_base_is_kept(settings: Settings) -> None:
    app = build_app(settings.with_changes(retrieval_strategy="LEXICAL", kb_quota_mb=1))
    kb_id = made(app, ("a.md", TEXTS[0]))
    with raises("kb_quota_exceeded", match="KB_QUOTA_MB"):
        app.kb_changes.change(kb_id, new=[new("b.md", "palabra " * 100_000)])
    assert list(texts(app, kb_id)) == ["a.md"]
    # A new one has the same limit, whoever makes it.
    large = ("palabra " * 70_000).encode()
    with raises("kb_quota_exceeded", match="KB_QUOTA_MB"):
        app.kbs.add("b.md", 2 * large)
    with raises("kb_quota_exceeded"):
        app.kb_filing.create("Grande", given_contents([("b.md", large)]))
    job_id = app.uploads.take([("b.md", large), ("c.md", b"Breve.")])
    while (upload := app.uploads.upload(job_id)) is not None and upload.job.active:
        pass
    assert upload is not None
    assert upload.job.error_code == "kb_quota_exceeded"
    assert [record.kb_id for record in app.kbs.records()] == [kb_id]


def test_files_are_added_in_the_background_by_their_paths(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    files = [("rrhh/a.md", TEXTS[1].encode()), ("a.md", b"Otro texto."), ("mal.md", b"\x00"), ("x.md", b"Otro texto.")]
    job_id = app.uploads.add_to(kb_id, files)
    found = app.uploads.upload(job_id)
    while found is not None and found.job.active:
        found = app.uploads.upload(job_id)
    assert found is not None
    assert [file.stage for file in found.files] == ["indexed", "indexed", "failed", "duplicate"]
    assert texts(app, kb_id) == {"a.md": "Otro texto.", "rrhh/a.md": TEXTS[1]}
    [document, _] = app.kb_changes.documents(kb_id)
    assert app.kbs.store.original(kb_id, document) == b"Otro texto."


def test_a_knowledge_base_of_format_1_is_changed_like_any_other(app: App) -> None:
    v1 = Path(__file__).parent.parent / "fixtures" / "v1" / "kb"
    shutil.copytree(v1, app.settings.kb_dir)
    [record] = app.kbs.records()
    text = app.kbs.document(record.kb_id).text
    later = app.kb_changes.change(record.kb_id, new=[new("nuevo.md", "Algo nuevo.")])
    assert app.kbs.document(record.kb_id, "1").text == text
    assert later.files == (*record.files, "nuevo.md") or later.files == ("nuevo.md", *record.files)
    assert app.kb_changes.restore(record.kb_id, "1").sha256 == record.sha256


def test_several_documents_of_format_1_are_changed_one_by_one(app: App) -> None:
    from chatbot_mvp.documents.kb_files import join_sources, text_hash
    from chatbot_mvp.storage.files import write_json

    files = [("a.md", "# A\n\nUno.\n\n"), ("b.md", "Dos.\n")]
    text, kept = join_sources([(path, ParsedText(one, "utf-8", len(one), False)) for path, one in files], LIMIT)
    folder = app.settings.kb_dir / "ab-0"
    folder.mkdir(parents=True)
    (folder / "source.txt").write_text(text, "utf-8")
    (folder / "files.json").write_text(json.dumps([asdict(file) for file in kept]), "utf-8")
    facts = {"kb_id": "ab-0", "kb_name": "AB", "language": "es", "languages": ["es"], "chars": len(text)}
    more = {"original_chars": len(text), "kb_truncated": False, "encoding": "utf-8", "sha256": text_hash(text)}
    times = {"added_at": "2026-11-20T10:00:00.000+00:00", "files": ["a.md", "b.md"], "chunks": 2}
    write_json(folder / "kb.json", {"format_version": 1, **facts, **more, **times})
    app.kb_changes.change("ab-0", new=[new("b.md", "Dos y medio.")])
    assert app.kbs.document("ab-0", "1").text == text
    assert app.kbs.document("ab-0").text == text.replace("Dos.", "Dos y medio.")
    assert [one.what for one in app.kb_changes.difference("ab-0", "1")] == ["changed"]


_BODY = st.lists(st.sampled_from(("# A", "## B", "###### F", "texto", "```", "~~~", "  # x", "#no", "")), max_size=8)


@settings(max_examples=settings().max_examples)
@given(st.lists(_BODY.map("\n".join).filter(str.strip), min_size=2, max_size=4))
def test_documents_of_format_1_join_again_to_the_text_that_they_come_from(bodies: list[str]) -> None:
    from chatbot_mvp.documents.kb_files import join_sources
    from chatbot_mvp.knowledge_base import format_1
    from chatbot_mvp.knowledge_base.versions import Version

    files = [(f"{n}.md", ParsedText(body, "utf-8", len(body), False)) for n, body in enumerate(bodies)]
    text, kept = join_sources(files, LIMIT)
    version = Version("", (), kept, "es", ("es",), len(text), len(text), False, "", 1, LIMIT)
    again, _ = join_sources(list(format_1.texts_of(text, version).items()), LIMIT)
    assert again == text


def test_a_stopped_change_leaves_the_version_before(app: App) -> None:
    kb_id = made(app, ("a.md", TEXTS[0]))
    before = app.kbs.store.record(kb_id)

    class Stop(ChatbotError):
        texts: ClassVar[Mapping[str, str]] = {"stop_of_a_test": "stop"}

    def stop(_: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        app.kb_changes.change(kb_id, new=[new("b.md", "palabra " * 1_000)], progress=stop)
    assert app.kbs.store.record(kb_id) == before
    assert replace(app.kb_changes.change(kb_id, new=[new("b.md", "Dos.")]), added_at="").number == 2


def test_a_path_never_leads_out_of_its_knowledge_base(app: App) -> None:
    parsed = parse_upload("x.md", b"hola", LIMIT, 1)
    assert app.kbs.store.keep([("../../x.md", parsed)], LIMIT).files == ("x.md",)


def test_two_servers_on_one_folder_see_the_same_versions(app: App, settings: Settings) -> None:
    other = build_app(settings.with_changes(retrieval_strategy="LEXICAL"))
    kb_id = made(app, ("a.md", "El faro abre a las nueve."))
    question = "¿A qué hora abre el faro?"
    for server, hour in ((app, "diez"), (other, "once"), (app, "doce")):
        server.kb_changes.change(kb_id, new=[new("a.md", f"El faro abre a las {hour}.")])
        for asked in (app, other):
            [trace] = asked.kbs.pipeline(kb_id).retrieve([question])
            assert trace.hits[0].chunk.text == f"El faro abre a las {hour}."
    assert [one.entry.version_id for one in app.kb_changes.history(kb_id)] == [
        one.entry.version_id for one in other.kb_changes.history(kb_id)
    ]


def test_a_removed_document_is_nowhere_any_more(app: App) -> None:
    fruit = (
        "## Recogida de fresas\n\nLas fresas maduran en mayo, y se recogen a mano antes de que salga el sol, en cajas."
    )
    hours = "## Horario del faro\n\nEl faro abre a las nueve de la mañana todos los días, y cierra cuando anochece."
    kb_id = made(app, ("a.md", hours), ("b.md", fruit))
    assert any("resas" in one for one in app.kbs.suggested_questions(kb_id, 20))
    app.kbs.pipeline(kb_id)
    app.kb_changes.change(kb_id, [Remove("b.md")])
    pipeline = app.kbs.pipeline(kb_id)
    for question in ("¿Cuándo maduran las fresas?", "fresas", "fresa mayo", "¿Qué hay sobre fresas?"):
        [trace] = pipeline.retrieve([question])
        assert not any("resas" in hit.chunk.text for hit in trace.hits)
        answer = app.answering.ask(kb_id, question)
        assert "maduran en mayo" not in repr(answer)
    assert not any("resas" in one for one in app.kbs.suggested_questions(kb_id, 20))
    assert not any("resas" in chunk.text for chunk in app.kbs.contents(kb_id).chunks)
    assert pipeline.index.kb is not None
    assert not any("fres" in word for word in (*pipeline.index.kb.words, *pipeline.index.kb.vocab_terms))
