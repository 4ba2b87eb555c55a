"""Two servers work on one data folder at the same time: nothing that either of them saves is lost."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.chat.conversations import ConversationStore
from chatbot_mvp.errors import QuestionSetChanged
from chatbot_mvp.evaluation.benchmark.presets import Presets
from chatbot_mvp.evaluation.kb.sets import QuestionSet, QuestionSetStore
from chatbot_mvp.runs.notes import RunNotes
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import PROJECT_ROOT, load_settings
from chatbot_mvp.storage.jsonl import read_lines

ROUNDS = 10
SESSION = "0123456789abcdef"
pytestmark = pytest.mark.xdist_group("two_servers")  # one worker, because starting it takes seconds

SERVERS = ("one", "two")
SETTING = {"one": "kb_top_k", "two": "retrieval_k"}

# What each server does, in a process of its own. All begin at the same moment.
SERVER = """
import sys, time
from dataclasses import replace
from pathlib import Path
from chatbot_mvp.chat.conversation import Turn
from chatbot_mvp.chat.conversations import ConversationStore
from chatbot_mvp.chat.feedback import add_question
from chatbot_mvp.errors import QuestionSetChanged
from chatbot_mvp.evaluation.benchmark.presets import Presets
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSetStore, SetQuestion
from chatbot_mvp.runs.notes import RunNotes
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import load_settings


data, me, setting, conversation, set_id, rounds = Path(sys.argv[1]), *sys.argv[2:6], int(sys.argv[6])
live = LiveSettings(load_settings(data_dir=data))
store, sets = ConversationStore(data / "conversations"), QuestionSetStore(data / "kb")
notes, presets = RunNotes(data / "run_notes.jsonl"), Presets(data / "run_presets.json")
(data / f"{me}.ready").touch()
while not (data / "go").exists():
    time.sleep(0.001)
for number in range(rounds):
    live.change(setting, number + 1)
    presets.save(f"{me} {number}", {"retrieval_k": number + 1})
    notes.tag("run", [f"{me} {number}"])
    turn = {"turn": f"{me}-{number}"}
    question = {"type": "question", "question": me, "mode": "strict", "at": ""}
    for line in (question, {"type": "text", "text": "x" * 5_000}):
        store.append("0123456789abcdef", conversation, {**line, **turn})
    for question in (f"{me} {number}", f"both {number}"):
        add_question(data / "kb" / "kb" / "questions.jsonl", Turn("t", question, "strict", ""), None)
    while True:
        found = sets.load("kb", set_id)
        try:
            sets.save(found.with_added([SetQuestion(KbQuestion(f"{me}-{number}", f"{me} {number}"))]))
            break
        except QuestionSetChanged:
            pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """(data folder that two servers have worked on, id of the conversation, id of the question set)."""
    data = tmp_path_factory.mktemp("data")
    conversation = ConversationStore(data / "conversations").start(SESSION, "kb", "KB")
    questions = QuestionSetStore(data / "kb").save(QuestionSet("", "kb", "Set", "0"))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", SERVER, str(data), me, SETTING[me], conversation, questions.set_id, str(ROUNDS)],
            cwd=PROJECT_ROOT,
            stderr=subprocess.PIPE,
        )
        for me in SERVERS
    ]
    while not all((data / f"{me}.ready").exists() for me in SERVERS) and not any(each.poll() for each in started):
        pass
    (data / "go").touch()
    for each in started:
        _, errors = each.communicate(timeout=100)
        assert each.returncode == 0, errors.decode()
    return data, conversation, questions.set_id


def both(what: str = "{} {}") -> set[str]:
    return {what.format(me, number) for me in SERVERS for number in range(ROUNDS)}


def test_each_server_keeps_the_settings_of_the_other(folder: tuple[Path, str, str]) -> None:
    now = LiveSettings(load_settings(data_dir=folder[0])).current
    assert (now.kb_top_k, now.retrieval_k) == (ROUNDS, ROUNDS)


def test_presets_tags_and_marked_questions_of_both_are_there_once(folder: tuple[Path, str, str]) -> None:
    data = folder[0]
    assert {preset.name for preset in Presets(data / "run_presets.json").all() if preset.own} == both()
    assert set(RunNotes(data / "run_notes.jsonl").all()["run"].tags) == both()
    rows, damaged = read_lines(data / "kb" / "kb" / "questions.jsonl")
    assert damaged == 0
    assert sorted(row["question"] for row in rows) == sorted(both() | {f"both {number}" for number in range(ROUNDS)})


def test_a_conversation_has_the_turns_of_both_whole(folder: tuple[Path, str, str]) -> None:
    found = ConversationStore(folder[0] / "conversations").load(SESSION, folder[1])
    assert found.damaged == 0
    assert {turn.turn_id for turn in found.turns} == both("{}-{}")
    assert {len(turn.text) for turn in found.turns} == {5_000}


def test_a_question_set_has_the_questions_of_both(folder: tuple[Path, str, str]) -> None:
    found = QuestionSetStore(folder[0] / "kb").load("kb", folder[2])
    assert {each.question.question for each in found.questions} == both()


def test_a_question_set_that_someone_else_has_saved_is_not_overwritten(tmp_path: Path) -> None:
    one, two = QuestionSetStore(tmp_path), QuestionSetStore(tmp_path)
    first = one.save(QuestionSet("", "kb", "Set", "0"))
    second = two.save(replace(first, name="Otro"))
    with pytest.raises(QuestionSetChanged, match=r"'Set'.*'kb'.*Reload"):
        one.save(first)
    assert one.load("kb", first.set_id) == second
    assert two.save(second).changed_at > second.changed_at


def test_a_running_server_uses_the_others_change_from_its_next_request_on(tmp_path: Path, clean_env: Path) -> None:
    one, two = (LiveSettings(load_settings(data_dir=tmp_path)) for _ in range(2))
    assert two.current.kb_top_k == 5
    version = two.snapshot.version
    one.change("kb_top_k", 3)
    one.choose_provider("demo")
    assert two.current.kb_top_k == 3
    assert two.current.provider == one.current.provider
    assert two.provider_reason == "it was chosen in Admin"
    assert {row.form.name: row.source for row in two.rows()}["kb_top_k"] == "admin"
    assert two.snapshot.version > version
    two.change("retrieval_k", 9)
    one.reset("kb_top_k")
    assert (one.current.kb_top_k, one.current.retrieval_k) == (5, 9)
    assert (two.current.kb_top_k, two.current.retrieval_k) == (5, 9)


def test_a_running_server_keeps_its_settings_when_the_file_is_damaged_or_of_a_later_version(
    tmp_path: Path, clean_env: Path, caplog: pytest.LogCaptureFixture
) -> None:
    live = LiveSettings(load_settings(data_dir=tmp_path))
    live.change("kb_top_k", 3)
    for content in ("{torn", '{"format_version": 2, "settings": {"kb_top_k": 4}}', "[" * 5_000):
        live.current.app_settings_path.write_text(content)
        assert live.current.kb_top_k == 3
        assert "the settings in effect stay" in caplog.text
        caplog.clear()
