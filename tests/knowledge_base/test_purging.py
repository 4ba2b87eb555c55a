"""After a purge, no file of the data folder has a word of the document; what does not concern it stays."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.knowledge_base import purging, version_files
from chatbot_mvp.knowledge_base.changes import Move, Remove
from chatbot_mvp.knowledge_base.purged_text import PurgedText
from chatbot_mvp.llm.base import Completion, Usage
from chatbot_mvp.llm.reply_cache import ReplyCache
from chatbot_mvp.storage.sqlite_cache import SqliteCache
from tests.fakes import FakeChatModel, fake_app
from tests.moving import ALLOWANCES, HOLIDAYS, HOW_MANY_DAYS, PARKING, WHOSE_PLACE, app_over, document, moving_kb

SESSION = "0123456789abcdef0123456789abcdef"
PATH = "edificio/aparcamiento.md"
UNIQUE = ("Zabalbeascoa", "Hermenegilda", "XQ-7731", "torre norte", "mando del garaje")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def app(data: Path, clean_env: Path) -> App:
    return app_over(data, log_queries=True)


def found_in(data: Path, said: str) -> list[str]:
    """The files whose bytes have a text, as it is or with escaped accents."""
    wanted = {said.casefold().encode(), json.dumps(said)[1:-1].casefold().encode()}
    paths = [path for path in data.rglob("*") if path.is_file()]
    return [str(path.relative_to(data)) for path in paths if any(one in path.read_bytes().lower() for one in wanted)]


def told(app: App, kb_id: str, *questions: str) -> str:
    conversation = app.chat.start(SESSION, kb_id, "Manual de la casa")
    for question in questions:
        assert app.chat.begin(SESSION, conversation, question, UserContext()).join(60)
    return conversation


def used(app: App) -> tuple[str, str, str]:
    """A knowledge base whose document is quoted wherever the program can quote it: (id, conversation, run)."""
    kb_id = moving_kb(app)
    conversation = told(app, kb_id, WHOSE_PLACE, HOW_MANY_DAYS, "¿Qué se entrega los viernes en recepción?")
    paragraph = PARKING.split("\n\n")[1]
    app.chat.add_question(SESSION, conversation, first_turn(app, conversation), "answerable")
    questions = app.question_sets.empty_set(kb_id, "Preguntas")
    asked = KbQuestion("q1", WHOSE_PLACE, "answerable", paragraph, "Aparcamiento", ("Hermenegilda Zabalbeascoa",))
    by_rules = KbQuestion("q2", "¿Qué entrega Hermenegilda Zabalbeascoa?", "answerable", paragraph)
    stays = KbQuestion("q3", HOW_MANY_DAYS, "answerable", HOLIDAYS.split("\n\n")[1])
    saved = app.question_sets.save(
        questions.with_added([SetQuestion(asked), SetQuestion(by_rules, origin="rules"), SetQuestion(stays)])
    )
    run = app.kb_evaluation.evaluate(kb_id, saved.set_id)["run_id"]
    reply = "El mando del garaje es de Hermenegilda Zabalbeascoa."
    cache = ReplyCache(app.settings.reply_cache_path)
    cache.put(b"1" * 32, Completion(reply, "m", 0.1, "stop", Usage(1, 1)))
    columns = "(key BLOB PRIMARY KEY, context TEXT NOT NULL) WITHOUT ROWID"
    contexts: SqliteCache[str] = SqliteCache(app.settings.contexts_path, "contexts", columns)
    contexts.write({b"1" * 32: "Trata de la plaza de Hermenegilda Zabalbeascoa.", b"2" * 32: "Trata de vacaciones."})
    cache.put(b"2" * 32, Completion("Veintitrés días.", "m", 0.1, "stop", Usage(1, 1)))
    return kb_id, conversation, run


def first_turn(app: App, conversation: str) -> str:
    return app.chat.conversation(SESSION, conversation).turns[0].turn_id


def test_no_file_has_a_word_of_a_purged_document(app: App, data: Path) -> None:
    kb_id, _, _ = used(app)
    app.kb_changes.change(kb_id, new=[document(PATH, PARKING.replace("viernes", "jueves"))])
    app.kb_changes.change(kb_id, [Move("edificio/", "sedes/")])
    app.chat.delete(SESSION, told(app, kb_id, WHOSE_PLACE), undoable=True)
    [questions] = app.question_sets.sets(kb_id)
    app.question_sets.delete_set(kb_id, questions.set_id, undoable=True)
    before = {said: found_in(data, said) for said in UNIQUE}
    assert all(len(files) > 4 for files in before.values()), before
    report = app.kb_changes.purge(kb_id, ["sedes/aparcamiento.md"])
    assert {said: found_in(data, said) for said in UNIQUE} == {said: [] for said in UNIQUE}
    assert report.paths == (PATH, "sedes/aparcamiento.md")
    assert (report.versions, report.files > 4, report.cached) == (3, True, 2)


def test_what_is_not_of_the_document_stays(app: App, data: Path) -> None:
    kb_id, conversation, run = used(app)
    result = app.kb_evaluation.result(kb_id, run)
    chunk = app.kb_evaluation.found(result, result.rows[0])[0].chunk
    assert app.archive.documents(run, [chunk.chunk_id])[chunk.chunk_id].text == chunk.text
    before = app.chat.conversation(SESSION, conversation).turns
    app.kb_changes.purge(kb_id, [PATH])
    after = app.chat.conversation(SESSION, conversation)
    assert after.damaged == 0
    assert [turn.question for turn in after.turns] == [turn.question for turn in before]
    first, second = after.turns[0].answer, after.turns[1].answer
    assert first is not None and second is not None
    assert first.text.startswith("[retirado ") and first.sources[0].chunk.text == first.text
    assert before[1].answer is not None
    assert (second.text, second.sources) == (before[1].answer.text, before[1].answer.sources)
    assert app.answering.citation_now(first.sources[0]).state == "purged"  # type: ignore[union-attr]
    [questions] = app.question_sets.sets(kb_id)
    asked, by_rules, stays = (each.question for each in questions.questions)
    assert (asked.question, asked.paragraph, asked.answers) == (WHOSE_PLACE, first.text + ".", (first.text,))
    assert "[retirado" in by_rules.question
    assert stays.paragraph == HOLIDAYS.split("\n\n")[1]
    assert app.kb_evaluation.result(kb_id, run).rows[2].question == stays
    assert "[retirado" in (app.kb_evaluation.result(kb_id, run).rows[0].question.paragraph or "")
    documents = app.archive.documents(run, [row.chunk_id for row in result.rows[0].found]).values()
    assert "Zabalbeascoa" not in " ".join(one.text for one in documents)
    assert [one.path for one in app.kb_changes.documents(kb_id)] == ["gastos/dietas.md", "personas/vacaciones.md"]
    assert "23 días" in app.answering.ask(kb_id, HOW_MANY_DAYS).text
    reply = ReplyCache(app.settings.reply_cache_path).get(b"2" * 32)
    assert reply is not None


def test_the_history_stays_and_an_earlier_version_comes_back_without_the_document(app: App) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, new=[document("personas/vacaciones.md", HOLIDAYS.replace("23", "25"))])
    app.kb_changes.purge(kb_id, [PATH])
    steps = app.kb_changes.history(kb_id)
    assert [(one.entry.number, one.entry.what, one.kept) for one in steps] == [
        (3, "purged", True),
        (2, "changed", True),
        (1, "created", True),
    ]
    app.kb_changes.restore(kb_id, "1")
    assert [one.path for one in app.kb_changes.documents(kb_id)] == ["gastos/dietas.md", "personas/vacaciones.md"]
    assert "23 días" in app.kbs.document(kb_id).text


def test_a_document_that_is_no_longer_in_the_current_version_is_purged_too(app: App, data: Path) -> None:
    kb_id = moving_kb(app)
    told(app, kb_id, WHOSE_PLACE)
    app.kb_changes.change(kb_id, [Remove("edificio/")])
    assert found_in(data, "Zabalbeascoa")
    app.kb_changes.purge(kb_id, ["edificio/"])
    assert found_in(data, "Zabalbeascoa") == []
    assert len(app.kb_changes.history(kb_id)) == 2


def test_a_draft_loses_the_document_too(app: App, data: Path) -> None:
    kb_id = moving_kb(app)
    app.kb_changes.change(kb_id, new=[document("nuevo.md", "# Nuevo\n\nUn texto nuevo.\n")], stage=True)
    app.kb_changes.purge(kb_id, [PATH])
    assert found_in(data, "Zabalbeascoa") == []
    app.kb_changes.publish(kb_id)
    assert [one.path for one in app.kb_changes.documents(kb_id)] == [
        "gastos/dietas.md",
        "nuevo.md",
        "personas/vacaciones.md",
    ]


def test_the_only_document_is_not_purged_and_nothing_is_under_way(app: App, data: Path) -> None:
    kb_id = moving_kb(app, document("uno.md", PARKING))
    with pytest.raises(KbChangeError, match="no document left"):
        app.kb_changes.purge(kb_id, ["uno.md"])
    assert list(data.rglob(purging.UNDER_WAY)) == []


def test_a_path_that_no_version_has_is_refused(app: App, data: Path) -> None:
    kb_id = moving_kb(app)
    with pytest.raises(KbChangeError, match=r"nada\.md.*aparcamiento"):
        app.kb_changes.purge(kb_id, ["nada.md"])
    assert list(data.rglob(purging.UNDER_WAY)) == []


STEPS = ("begin", "publish", "chat", "caches", "versions")


@pytest.mark.parametrize("step", STEPS)
def test_a_purge_that_was_killed_is_continued(app: App, data: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    class Killed(BaseException):
        pass

    def killed(*args: object, **kwargs: object) -> None:
        if list(data.rglob(purging.UNDER_WAY)):  # not before it has begun
            raise Killed

    kb_id, _, _ = used(app)
    store = app.kbs.store
    places: dict[str, tuple[object, str]] = {
        "begin": (app.kb_changes, "_put_in_place"),
        "publish": (purging, "purge_files"),
        "caches": (purging, "purge_caches"),
        "versions": (store._files, "keep_only"),
    }
    with monkeypatch.context() as patch:
        if step == "chat":
            app.kb_changes.erasers.append(killed)  # type: ignore[arg-type]
        else:
            patch.setattr(*places[step], killed)
        with pytest.raises(Killed):
            app.kb_changes.purge(kb_id, [PATH])
    later = app_over(data)
    later.kb_changes.finish_purges()
    assert {said: found_in(data, said) for said in UNIQUE} == {said: [] for said in UNIQUE}
    assert later.kb_changes.history(kb_id)[0].entry.what == "purged"
    assert list(data.rglob(purging.UNDER_WAY)) == []


@pytest.mark.parametrize("times", range(1, 7))
def test_a_purge_that_is_continued_is_about_the_same_documents(
    data: Path, clean_env: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Also if some versions do not have them any more: a draft's text of a document that has moved since goes."""

    class Killed(BaseException):
        pass

    app = app_over(data)
    kb_id = moving_kb(app, *(document(f"{name}.md", f"# {name}\n\nTrata de {name}.\n") for name in "abc"))
    app.kb_changes.change(kb_id, new=[document("a.md", "# A\n\nUn borrador XQ-11.\n")], stage=True)
    app.kb_changes.change(kb_id, [Move("a.md", "d.md")])
    app.kb_changes.change(kb_id, new=[document("a.md", "# Otro\n\nOtra cosa.\n")])
    left, write = [times], version_files.write_json

    def killed(*args: Any, **kwargs: Any) -> Any:
        if list(data.rglob(purging.UNDER_WAY)):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
        return write(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(version_files, "write_json", killed)
        with suppress(Killed):
            app.kb_changes.purge(kb_id, ["d.md"])
    later = app_over(data)
    later.kb_changes.finish_purges()
    staged = later.kb_changes.staged(kb_id)
    assert staged is not None
    assert {one.path for one in later.kb_changes.documents(kb_id, staged.version_id)} == {"b.md", "c.md"}
    assert found_in(data, "XQ-11") == []
    assert {one.path for one in later.kb_changes.documents(kb_id)} == {"a.md", "b.md", "c.md"}


def test_answers_of_a_model_and_the_prompts_that_repeat_them_are_purged(data: Path, clean_env: Path) -> None:
    model = FakeChatModel("La plaza es de Hermenegilda Zabalbeascoa, según consta. [1]")
    app = fake_app(app_over(data).settings, chat_model=lambda: model)
    kb_id = moving_kb(app)
    told(app, kb_id, WHOSE_PLACE, "¿Y desde cuándo la tiene?")
    assert found_in(data, "Zabalbeascoa")
    app.kb_changes.purge(kb_id, [PATH])
    assert found_in(data, "Zabalbeascoa") == []


def purged(gone: str, *rest: str) -> PurgedText:
    return PurgedText([gone], rest, ["a/b.md"], [], "[X]")


@pytest.mark.parametrize(
    ("text", "made", "without"),
    [
        ("Dijo que el coche rojo de Ana está en venta.", False, "Dijo que [X] en venta."),
        ("el coche rojo", True, "el coche rojo"),
        ("EL COCHE ROJO DE ANA", False, "[X]"),
        ("Pregunta por Anabel", True, "Pregunta por [X]"),
        ("Pregunta por anabel", False, "Pregunta por [X]"),
        ("La matrícula 4471-KLM", False, "La matrícula [X]"),
        ("Ficha de b.md", True, "Ficha de b.md"),
        ("a/b.md", True, "[X]"),
        ("Guía > Ficha personal", True, "Guía > [X]"),
        ("ana-7:0003", True, "ana-7:0003"),
    ],
)
def test_what_is_taken_out_of_a_text(text: str, made: bool, without: str) -> None:
    gone = "# Ficha personal\n\nTambién el coche rojo de Ana está aquí. Lo vio Anabel. Matrícula 4471-KLM."
    assert purged(gone, "Una guía de todo.").without(text, made, "ana-7") == without


def test_what_others_have_too_stays() -> None:
    text = purged("El horario de oficina es de Anabel.", "El horario de oficina es de nueve a seis. Llame a Anabel.")
    assert text.without("El horario de oficina es de Anabel", True) == "El horario de [X]"
    assert text.without("El horario de oficina es de nueve", True) == "El horario de oficina es de nueve"


def test_deleted_rows_leave_nothing_in_a_cache(app: App, data: Path) -> None:
    kb_id, _, _ = used(app)
    app.kb_changes.purge(kb_id, [PATH])
    with closing(sqlite3.connect(app.settings.reply_cache_path)) as connection:
        assert connection.execute("SELECT count(*) FROM replies").fetchone() == (1,)
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)


def vectors(data: Path) -> set[bytes]:
    with closing(sqlite3.connect(data / "cache" / "vectors.sqlite")) as connection:
        return {key for (key,) in connection.execute("SELECT key FROM vectors")}


@pytest.mark.parametrize("store", ["exact", "chroma"])
def test_vectors_of_a_purged_document_are_deleted(tmp_path: Path, clean_env: Path, store: str) -> None:
    def hybrid(data: Path) -> App:
        return fake_app(app_over(data, retrieval_strategy="HYBRID", vector_store=store).settings)

    app = hybrid(tmp_path / "data")
    kb_id = moving_kb(app)
    app.kbs.pipeline(kb_id)
    before = vectors(tmp_path / "data")
    app.kb_changes.purge(kb_id, [PATH])
    app.kbs.pipeline(kb_id)
    other = hybrid(tmp_path / "other")
    other.kbs.pipeline(
        moving_kb(other, document("personas/vacaciones.md", HOLIDAYS), document("gastos/dietas.md", ALLOWANCES))
    )
    assert vectors(tmp_path / "data") == vectors(tmp_path / "other") < before
    assert {said: found_in(tmp_path / "data", said) for said in UNIQUE} == {said: [] for said in UNIQUE}


def test_vectors_on_disk_have_nothing_of_what_this_process_had_in_memory(tmp_path: Path, clean_env: Path) -> None:
    """ChromaDB leaves its places for further vectors as the memory was."""
    app = fake_app(app_over(tmp_path / "data", retrieval_strategy="HYBRID", vector_store="chroma").settings)
    for row in range(4):
        freed = [PARKING * length for length in range(1, 800)]
        del freed
        app.kbs.pipeline(moving_kb(app, document(f"{row}.md", f"# Reglas {row}\n\nUn texto.\n")))
    files = list((tmp_path / "data" / "chroma").glob("*/data_level0.bin"))
    assert len(files) >= 4
    assert [path for path in files if any(path.read_bytes())] == []


def test_a_cache_that_cannot_be_read_goes_and_is_named(app: App, data: Path) -> None:
    kb_id, _, _ = used(app)
    damaged = data / "cache" / "contexts.sqlite"
    damaged.write_bytes(b"no database " * 1_000)
    assert app.kb_changes.purge(kb_id, [PATH]).damaged == ("contexts.sqlite",)
    assert not damaged.exists()
    assert {said: found_in(data, said) for said in UNIQUE} == {said: [] for said in UNIQUE}


def test_a_document_that_came_back_to_its_path_stays_when_another_one_is_purged_from_where_it_was(app: App) -> None:
    """It was moved to the path of a removed one, and the version with both was restored."""
    kb_id = moving_kb(app, *(document(f"{name}.md", f"# {name}\n\nTrata de {name}.\n") for name in "abc"))
    first = app.kb_changes.history(kb_id)[0].entry.version_id
    app.kb_changes.change(kb_id, [Remove("c.md")])
    app.kb_changes.change(kb_id, [Move("a.md", "c.md")])
    app.kb_changes.restore(kb_id, first)
    app.kb_changes.purge(kb_id, ["c.md"])
    held = [
        {one.path for one in app.kb_changes.documents(kb_id, step.entry.version_id)}
        for step in app.kb_changes.history(kb_id)
        if step.kept
    ]
    assert held == [{"a.md", "b.md"}, {"a.md", "b.md"}, {"b.md", "c.md"}, {"a.md", "b.md"}, {"a.md", "b.md"}]
    assert "Trata de c" not in "".join(
        app.kbs.document(kb_id, step.entry.version_id).text for step in app.kb_changes.history(kb_id)
    )


def test_what_left_a_path_and_was_removed_elsewhere_is_not_what_is_added_there_later(app: App) -> None:
    kb_id = moving_kb(app, *(document(f"{name}.md", f"# {name}\n\nTrata de {name}.\n") for name in "ab"))
    app.kb_changes.change(kb_id, [Move("a.md", "c.md")])
    app.kb_changes.change(kb_id, [Remove("c.md")])
    app.kb_changes.change(kb_id, new=[document("a.md", "# Otro\n\nOtra cosa.\n")])
    app.kb_changes.purge(kb_id, ["a.md"])

    def held() -> list[set[str]]:
        steps = app.kb_changes.history(kb_id)
        return [{one.path for one in app.kb_changes.documents(kb_id, step.entry.version_id)} for step in steps]

    assert {"a.md", "b.md"} in held() and {"b.md", "c.md"} in held()
    app.kb_changes.purge(kb_id, ["c.md"])
    assert all(paths == {"b.md"} for paths in held())
