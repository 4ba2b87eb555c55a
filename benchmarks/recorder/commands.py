"""Calls of the command line, as calls.txt has them: in this process, since a process of its own takes seconds."""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.recorder.facts import JSON, Fact
from benchmarks.recorder.folder import digest, holds
from benchmarks.recorder.stable import Stable
from benchmarks.script import SAMPLES
from chatbot_mvp.api import UserContext
from chatbot_mvp.app import build_app
from chatbot_mvp.cli import main as command_line
from chatbot_mvp.cli.commands import cli
from chatbot_mvp.cli.lazy import LazyGroup
from chatbot_mvp.knowledge_base.naming import kb_named
from chatbot_mvp.settings.model import load_settings

_CALLS = Path(__file__).with_name("calls.txt")
_WORDS = ("Ornitorrinco", "vacaciones")
"""Of the document that is purged, and of one that stays."""


def chains() -> dict[str, tuple[bool, list[str]]]:
    """Return name -> (whether it is in the sample, its lines)."""
    found: dict[str, tuple[bool, list[str]]] = {}
    for line in _CALLS.read_text("utf-8").splitlines():
        if named := re.fullmatch(r"\[(.+?)( \*)?\]", line):
            found[named[1]] = (bool(named[2]), [])
            lines = found[named[1]][1]
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def call(*arguments: str, given: str = "") -> tuple[int, str, str]:
    """Run a command in this process; return its exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    root, own = logging.getLogger(), logging.getLogger("chatbot_mvp")
    before = [*root.handlers], root.level, own.level, sys.excepthook
    signals = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        stack.enter_context(patch.object(sys, "argv", ["chatbot-mvp", *arguments]))
        stack.enter_context(patch.object(sys, "stdin", io.StringIO(given)))
        try:
            command_line.main()
            code: Any = "no exit"
        except SystemExit as ended:
            code = ended.code or 0
        except Exception as error:  # noqa: BLE001 - a defect of the program is a fact, too
            code = f"{type(error).__name__}: {error}"
        finally:
            root.handlers[:], sys.excepthook = before[0], before[3]
            root.setLevel(before[1])
            own.setLevel(before[2])
            logging.captureWarnings(False)
            for number, handler in signals:
                signal.signal(number, handler)
    return code, out.getvalue(), err.getvalue()


def leaves() -> dict[str, Any]:
    """Return path -> each command of the program, those of wings too."""
    assert isinstance(cli, LazyGroup)
    return {path: command.load() for path, command in cli.leaves()}


def interface(command: Any) -> JSON:
    """Return name -> [spellings, type, default, whether it must be given] of what a command takes."""
    return {
        one.name: [
            [*one.opts, *one.secondary_opts],
            getattr(getattr(one, "type", None), "name", ""),
            str(one.default),
            one.required,
        ]
        for one in command.params
        if one.name != "help"
    }


def shortened(value: JSON, most: int = 60) -> JSON:
    """Return a value in which lists of more than ``most`` rows have three of them, their number and their hash."""
    if isinstance(value, dict):
        return {name: shortened(part, most) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) <= most:
        return [shortened(part, most) for part in value]
    return [*value[:3], f"{len(value)} rows: {digest(json.dumps(value, sort_keys=True))}"]


class Chain:
    """A working folder with a data folder in it, and the commands that are called there one after the other."""

    def __init__(self, name: str, work: Path) -> None:
        self.name, self.work, self.data = name, work / name.replace(" ", "-"), work / name.replace(" ", "-") / "data"
        self.work.mkdir()
        self.stable = Stable({"work": self.work, "samples": SAMPLES})
        self.ids = {"samples": str(SAMPLES)}
        self.environment = {"DATA_DIR": str(self.data), "PROVIDER": "demo", "RETRIEVAL_STRATEGY": "LEXICAL"}
        self.input = ""
        self._before: JSON = {}

    def facts(self, lines: list[str]) -> Iterator[Fact]:
        """Yield what each call says, and what the data folder holds where that has changed."""
        seen: dict[str, int] = {}
        for line in lines:
            with patch.dict(os.environ, self.environment), chdir(self.work):
                value = self._done(line[2:]) if line.startswith("! ") else self._called(line)
            if value is not None:
                value |= self._changed()
                seen[line] = seen.get(line, 0) + 1
                again = f" ({seen[line]})" if seen[line] > 1 else ""
                yield Fact(f"surfaces/cli/{self.name}/{line}{again}", value)

    def _called(self, line: str) -> dict[str, JSON]:
        name, _, command = line.rpartition(" = ") if re.match(r"\w+ = ", line) else ("", "", line)
        as_text = command.startswith("text ")
        arguments = [self._filled(part) for part in shlex.split(command.removeprefix("text "))]
        if arguments[0] == "restore":
            gc.collect()  # Apps of the commands before hold the data folder until they are collected
        code, out, err = call(*arguments, *([] if as_text else ["--json"]), given=self.input)
        self.input = ""
        value: dict[str, JSON] = {"exit": code}
        if as_text or not out:
            value["out"] = self.stable.text(out).splitlines()
            value["err"] = [self.stable.text(one) for one in err.splitlines() if one.startswith("chatbot-mvp: ")]
        else:
            found = json.loads(out)
            if name:
                self.ids[name] = str(found.get("run_id") or found.get("tune_id") or found["waiting"][0]["item_id"])
            if arguments[0] in ("backup", "restore"):  # an archive has the times of its files
                found |= {key: "<of the archive>" for key in ("bytes", "sha256") if key in found}
            value["out"] = shortened(self.stable.value(found))
            if arguments[:2] == ["benchmark", "export"] and not code:
                value["files"] = [self._exported(Path(name)) for name in found["files"]]
        if self.environment.get("LOG_FORMAT") == "jsonl":
            value["log"] = self._logged(err)
        return value

    def _logged(self, err: str) -> list[JSON]:
        """Return the lines of a log as objects, each once; those of progress come by the clock."""
        rows = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        told = [json.dumps(self.stable.value(row), sort_keys=True) for row in rows if row.get("event") != "progress"]
        return [json.loads(line) for line in dict.fromkeys(told)]

    def _changed(self) -> dict[str, JSON]:
        after = self.stable.value(holds(self.data, _WORDS))
        before, self._before = self._before, after
        return {"holds": after} if after != before else {}

    def _done(self, what: str) -> dict[str, JSON] | None:
        verb, _, rest = what.partition(" ")
        name, _, text = self._filled(rest).partition(" ")
        text = text.replace("\\n", "\n")
        if verb == "write":
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, "utf-8")
        elif verb == "remove":
            Path(name).unlink()
        elif verb == "set":
            self.environment |= dict([name.split("=", 1)])
        elif verb == "data":
            self.data = self.work / name
            self.environment["DATA_DIR"] = str(self.data)
        elif verb == "input":
            self.input = rest.replace("\\n", "\n")
        elif verb == "chat":
            self._chat(name, text.strip('"'))
        elif verb == "records":
            return self._records(self.data / "results" / name)
        else:
            raise ValueError(what)
        return None

    def _chat(self, name: str, question: str) -> None:
        app = build_app(load_settings())
        kb_id = kb_named(app.kbs.records(), name).kb_id
        turn = app.chat.begin("0" * 32, app.chat.start("0" * 32, kb_id, name), question, UserContext())
        assert turn.join(60)

    def _exported(self, path: Path) -> list[JSON]:
        """Return the first characters and the hash of a text without what varies; of another file, only its suffix."""
        if path.suffix in (".zip", ".svg", ".md"):  # the report has the seconds of its run
            return [path.suffix]
        text = self.stable.text(path.read_text("utf-8"))
        return [path.suffix, text[:200], digest(text)]

    def _records(self, folder: Path) -> dict[str, JSON]:
        """Return what a run has written, lines in the order of their text."""
        lines = {path.name: path.read_text("utf-8").splitlines() for path in sorted(folder.glob("[!.]*.*"))}
        rows = {
            name: [self.stable.value(json.loads(line)) for line in lines[name]] for name in lines if name[-1] == "l"
        }
        return {
            **{self.stable.text(name): len(told) for name, told in lines.items()},
            **{name: sorted(told, key=json.dumps) for name, told in rows.items()},
            "manifest": self.stable.value(json.loads((folder / "manifest.json").read_text("utf-8"))),
        }

    def _filled(self, part: str) -> str:
        return re.sub(r"\$\((\w+)\)", lambda found: self.ids[found[1]], part)
