"""Change one knowledge base in random orders from two processes of two threads each, and kill them in the middle.

Modules are imported once, and each process is forked from there. A sequence restores, adds, removes, moves, stages,
publishes, drops, purges, collects, asks, and moves the clock of the files; up to three operations at the same time.
After each round what is read must be what ``order_model`` says of some order of them: nothing that was reported is
lost, nothing that was purged is there, neither as a document nor as bytes of the data folder, and nothing else went.
Needs ``fork``.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import select
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from chatbot_mvp.knowledge_base.changes import Move, Remove
from tests.kills.order_model import Operation, State, apart, outcomes, same, words
from tests.moving import app_over, document, moving_kb

PATHS = ("a.md", "b.md", "c/a.md", "c/d.md")
EXPECTED = frozenset(
    "kb_changed_meanwhile kb_document_not_found kb_path_taken kb_would_be_empty kb_nothing_staged "
    "kb_version_not_found kb_document_purged".split()
)
"""Codes of errors with which an operation may be refused: nothing of it is made then."""
_CHOSEN = tuple("add add add stage stage publish publish drop restore restore purge purge remove move".split())
_CHOSEN += ("collect", "ask", "again")
_REPLY_S = 120
_HOUR = 3_600


class Broken(Exception):
    """What a sequence found wrong."""


class Worker:
    """A process with the application over a data folder, which does operations in threads of its own."""

    def __init__(self, data: Path) -> None:
        commands, self._commands = os.pipe()
        self._replies, replies = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._commands)
            os.close(self._replies)
            try:
                _serve(data, commands, replies)
            finally:
                os._exit(0)
        os.close(commands)
        os.close(replies)
        self._left = b""

    def send(self, number: int, operation: Operation) -> None:
        os.write(self._commands, json.dumps([number, *operation]).encode() + b"\n")

    def replies(self, count: int) -> dict[int, Any]:
        """Wait for so many replies, and return number -> reply; fewer if the process dies."""
        found: dict[int, Any] = {}
        while len(found) < count:
            if not select.select([self._replies], [], [], _REPLY_S)[0]:
                raise Broken(f"no reply within {_REPLY_S} seconds")
            part = os.read(self._replies, 65_536)
            if not part:
                break
            *lines, self._left = (self._left + part).split(b"\n")
            found |= {row[0]: row[1] for row in map(json.loads, lines)}
        return found

    def call(self, operation: Operation) -> Any:
        self.send(-1, operation)
        reply = self.replies(1).get(-1)
        if not isinstance(reply, dict) or "error" in reply:
            raise Broken(f"{operation}: {reply}")
        return reply["value"]

    def kill(self) -> None:
        """End the process at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        os.waitpid(self.pid, 0)
        os.close(self._commands)
        os.close(self._replies)


def _serve(data: Path, commands: int, replies: int) -> None:
    app = app_over(data)
    with os.fdopen(commands, "rb") as lines:
        for line in lines:
            number, *operation = json.loads(line)
            threading.Thread(target=_reply, args=(app, replies, number, operation)).start()


def _reply(app: Any, replies: int, number: int, operation: list[str]) -> None:
    try:
        reply = {"value": _do(app, *operation)}
    except Exception as error:  # noqa: BLE001  (reported to the parent, which knows what may be)
        reply = {"error": getattr(error, "code", "") or repr(error)}
    os.write(replies, json.dumps([number, reply]).encode() + b"\n")


def text_of(word: str) -> str:
    return f"# Informe {word}\n\nEl informe {word} trata de {word} y de nada que no sea {word}.\n"


def _do(app: Any, name: str, *rest: str) -> Any:
    """Do one operation, all through what the application offers to pages and commands."""
    if name == "create":
        return moving_kb(app, *(document(path, text_of(word)) for path, word in zip(PATHS, rest, strict=False)))
    [record] = app.kbs.records()
    kb_id = record.kb_id
    if name == "add":
        app.kb_changes.change(kb_id, new=[document(rest[0], text_of(rest[1]))], note=f"viene {rest[1]}")
    elif name == "stage":
        app.kb_changes.change(kb_id, new=[document(rest[0], text_of(rest[1]))], stage=True)
    elif name == "remove":
        app.kb_changes.change(kb_id, [Remove(rest[0])])
    elif name == "move":
        app.kb_changes.change(kb_id, [Move(*rest)])
    elif name in ("publish", "drop", "collect"):
        getattr(app.kb_changes, name)(kb_id)
    elif name == "restore":
        app.kb_changes.restore(kb_id, rest[0])
    elif name == "purge":
        app.kb_changes.purge(kb_id, rest)
    elif name == "start":
        app.start()
    elif name == "ask":
        return app.answering.ask(kb_id, f"¿De qué trata el informe {rest[0]}?").text
    elif name == "look":
        return _look(app, kb_id)
    elif name == "modules":
        return sorted(sys.modules)
    return None


def _look(app: Any, kb_id: str) -> Any:
    """Return [documents of each version of the history, None for one that is not kept; those of the draft]."""

    def read(version: str) -> dict[str, str]:
        text = app.kbs.document(kb_id, version).text
        files = app.kbs.store.files(kb_id, version)
        return {file.name: text[file.start : file.end].split("trata de ")[1].split(" ")[0] for file in files}

    steps = reversed(app.kb_changes.history(kb_id))
    staged = app.kb_changes.staged(kb_id)
    found = {}
    history = []
    for step in steps:
        version = step.entry.version_id
        if version not in found:
            found[version] = read(version) if step.kept else None
        history.append(found[version])
    return [history, read(staged.version_id) if staged else None]


class Sequence:
    """One random order of operations on a data folder of its own."""

    def __init__(self, seed: str, data: Path, rounds: int = 8) -> None:
        self._random = random.Random(seed)
        self._data, self._rounds = data, rounds
        self._words = 0
        self.told: list[str] = []
        """What was done, one line for each round."""
        self.kills = 0
        self.operations = 0

    def run(self) -> None:
        """Raises Broken."""
        self._workers = [Worker(self._data), Worker(self._data)]
        try:
            first = [self._word() for _ in range(3)]
            self._workers[0].call(("create", *first))
            states = [State.created(dict(zip(PATHS, first, strict=False)))]
            for _ in range(self._rounds):
                states = self._round(states)
        finally:
            for worker in self._workers:
                worker.close()

    def _word(self) -> str:
        self._words += 1
        return f"Q{self._random.randrange(16**8):08x}z{self._words}"

    def _operation(self, state: State) -> Operation:
        choose, path = self._random, self._random.choice(PATHS)
        name = choose.choice(_CHOSEN)
        if name in ("add", "stage"):
            return name, path, self._word()
        if name == "again" and state.purged:  # what was purged does not come back
            return "add", *choose.choice(sorted(state.purged))
        if name == "restore":
            return name, str(choose.randint(1, len(state.steps)))
        if name == "move":
            return name, path, choose.choice(PATHS)
        if name in ("purge", "remove"):
            return name, path
        return ("ask", state.current[min(state.current)][1]) if name in ("ask", "again") else (name,)

    def _round(self, states: list[State]) -> list[State]:
        choose, state = self._random, states[0]
        asked = [self._operation(state) for _ in range(choose.choice((1, 1, 2, 2, 3)))]
        places = [choose.randrange(2) for _ in asked]
        killed = choose.randrange(2) if choose.random() < 0.5 else None
        if choose.random() < 0.2:
            self._move_clock()
        for number, (operation, place) in enumerate(zip(asked, places, strict=True)):
            self._workers[place].send(number, operation)
        if killed is not None and killed in places:
            time.sleep(choose.random() ** 2 * 0.15)  # the moment of the kill
            self._workers[killed].kill()
            self.kills += 1
        replies: dict[int, Any] = {}
        for place, worker in enumerate(self._workers):
            replies |= worker.replies(places.count(place))
        if killed is not None and killed in places:
            self._workers[killed].close()
            self._workers[killed] = Worker(self._data)
            self._workers[killed].call(("start",))  # which continues a purge
        self.operations += len(asked)
        self.told.append(f"{list(zip(places, asked, strict=True))} killed {killed}: {replies}")
        done, maybe = [], []
        for number, operation in enumerate(asked):
            reply = replies.get(number)
            if reply is None:
                maybe.append(operation)
            elif "error" not in reply:
                done.append(operation)
            elif reply["error"] not in EXPECTED:
                raise Broken(f"{operation}: {reply['error']}")
        return self._checked(states, done, maybe)

    def _checked(self, states: list[State], done: list[Operation], maybe: list[Operation]) -> list[State]:
        found = self._workers[self._random.randrange(2)].call(("look",))
        legal = {repr(one): one for state in states for one in outcomes(state, done, maybe)}
        left = [one for one in legal.values() if same(one, found)]
        if not left:
            raise Broken(min((apart(one, found) for one in legal.values()), key=len, default="nothing is legal"))
        # A draft that a killed process wrote behind a purge leaves bytes, and looks as one that was purged with it.
        clean, where = [], list[tuple[str, str]]()
        for one in left:
            kept = {word for each in (*one.steps, *(one.draft or ())) for word in words(each).values()}
            found_bytes = self._bytes_of({word for _, word in one.purged} - kept)
            where += found_bytes
            clean += [] if found_bytes else [one]
        if not clean:
            raise Broken(f"purged, and still there: {where}")
        return clean

    def _bytes_of(self, gone: set[str]) -> list[tuple[str, str]]:
        found = []
        for path in self._data.rglob("*") if gone else ():
            with suppress(OSError):
                content = path.read_bytes().lower() if path.is_file() else b""
                found += [
                    (word, str(path.relative_to(self._data))) for word in gone if word.lower().encode() in content
                ]
        return found

    def _move_clock(self) -> None:
        """Let all files be some hours older, as when a machine has slept, or younger than the clock says."""
        by = self._random.choice((-_HOUR, 2 * _HOUR, 50 * _HOUR))
        for path in self._data.rglob("*"):
            with suppress(OSError):
                found = path.stat()
                os.utime(path, (found.st_atime - by, found.st_mtime - by))


@cache
def _import_what_operations_do(folder: Path) -> None:
    """Let a process do each operation, and import here what it has imported, which each fork would do anew."""
    worker = Worker(folder / "first")
    try:
        worker.call(("create", "Q0z1", "Q0z2", "Q0z3"))
        for line in (
            "start",
            "add a.md Q0z4",
            "stage c/d.md Q0z5",
            "ask Q0z4",
            "publish",
            "restore 1",
            "purge b.md",
            "look",
        ):
            worker.call(tuple(line.split()))
        for name in worker.call(("modules",)):
            with suppress(ImportError):
                importlib.import_module(name)
    finally:
        worker.close()
        shutil.rmtree(folder / "first", ignore_errors=True)


def attack(seed: str, folder: Path, rounds: int = 8) -> Sequence:
    """Run one sequence in a folder that is empty afterwards; return it. Raises Broken, with what was done."""
    _import_what_operations_do(folder)
    data = folder / "data"
    sequence = Sequence(seed, data, rounds)
    try:
        sequence.run()
    except Broken as broken:
        raise Broken("\n".join([f"seed {seed}", *sequence.told, str(broken)])) from None
    finally:
        shutil.rmtree(data, ignore_errors=True)
    return sequence
