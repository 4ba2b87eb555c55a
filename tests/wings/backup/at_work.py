"""Back up the application while it works, restore elsewhere, and kill backups and restores with SIGKILL.

    python -m tests.wings.backup.at_work [--backups 40] [--kills 200] [--seed 7] [--json]

A forked process saves settings, chats, takes uploads or runs benchmarks, and reports what it begins and what is done
(``tests.kills.works``). Meanwhile this process makes backups. Each is restored to another folder, where another process
looks for everything that was reported as done before the backup began. A run that the backup caught at work is resumed
there and must give the figures of the others. Then backups and restores are killed at random moments: the archive and
the data folder must be the old ones or the new ones. The exit code is 1 if anything differs. Needs ``fork``.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from chatbot_mvp.runs.records import run_folders
from chatbot_mvp.storage.data_folder import DataFolder, use_folder
from chatbot_mvp.wings.backup.reading import open_backup
from chatbot_mvp.wings.backup.restoring import restore
from chatbot_mvp.wings.backup.writing import save_backup
from tests.kills.app import check, forget_settings, process, serve, tell
from tests.kills.works import WORKS, Said, Work

_PHASES = ("retrieve", "generate")
"""Phases in which a run works on its questions."""
_LEAST_WAIT_S, _MOST_WAIT_S = 0.0, 0.15
"""Time between two backups of a process at work."""


@dataclass
class Report:
    """Counts of what happened, and the differences found."""

    backups: Counter[str] = field(default_factory=Counter)
    """Kind of work -> backups made while it went on."""
    resumed: int = 0
    """Runs that a backup caught at work, and that were finished where it was restored."""
    kills: Counter[str] = field(default_factory=Counter)
    """"<backup or restore>: <old or new>" -> kills after which this was there."""
    differences: list[str] = field(default_factory=list)


class Worker:
    """A forked process that works until it is closed."""

    def __init__(self, work: Work, data: Path) -> None:
        self._pipe, writing = os.pipe()
        os.set_blocking(self._pipe, False)
        self._left = b""
        self._process = os.fork()
        if self._process == 0:
            try:
                serve(work, data, 0, 10**9, lambda *values: tell(writing, *values))
            except BaseException as error:  # noqa: BLE001  (reported to the parent)
                tell(writing, "failed", repr(error), "")
            os._exit(0)
        os.close(writing)

    def said(self) -> Said:
        """What it has reported since the last call."""
        try:
            while part := os.read(self._pipe, 1 << 20):
                self._left += part
        except BlockingIOError:
            pass
        *lines, self._left = self._left.split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._pipe)


def at_work(folder: Path, backups: int, seed: int, report: Report) -> None:
    """Back up each kind of work in turns, and restore and check every backup."""
    moments = random.Random(seed)
    for name, kind in WORKS.items():
        work, data = kind(), folder / name
        said, error = process(partial(serve, work, data, 0, 2), None, 0.0)
        if error:
            raise RuntimeError(f"{name} fails: {error}")
        work.learn(said)
        worker = Worker(work, data)
        try:
            for number in range(backups // len(WORKS)):
                time.sleep(moments.uniform(_LEAST_WAIT_S, _MOST_WAIT_S))
                work.learn(said := worker.said())
                while name == "runs" and not (said and said[-1][0] == "phase" and said[-1][2] in _PHASES):
                    time.sleep(0.002)  # until a run is at work on its questions
                    work.learn(said := worker.said())
                archive, place = folder / f"{name}.zip", folder / f"{name}-{number}"
                save_backup(archive, DataFolder(data), "1")
                then = copy.deepcopy(work)
                later = worker.said()
                then.learn([each for each in later if each[0] == "begun"])
                work.learn(later)
                with open_backup(archive) as backup:
                    restore(backup, DataFolder(place))
                report.backups[name] += 1
                report.differences += [f"backup {number}, {name}: {each}" for each in _look(then, name, place, report)]
        finally:
            worker.close()


def _look(work: Work, name: str, place: Path, report: Report) -> list[str]:
    """Check a restored folder; for runs, once more after an unfinished one was resumed."""
    found = _problems(work, place)
    if name == "runs":
        left = {each.run_id for each in run_folders(place / "results") if not each.finished}
        said, error = process(partial(serve, work, place, 0, 1), None, 0.0)
        work.learn(said)
        report.resumed += sum(each[0] == "done" and each[1] in left for each in said)
        found += [error] if error else _problems(work, place)
    return found


def _problems(work: Work, place: Path) -> list[str]:
    checked, failed = process(partial(check, work, place), None, 0.0)
    found: list[str] = checked[0][1] if checked else [failed]
    damaged = checked[0][2] if checked else 0
    return [*found, *([f"{damaged} damaged lines"] if damaged else [])]


def killed(folder: Path, kills: int, seed: int, report: Report) -> None:
    """Kill backups and restores of two states of a folder; each kill must leave one of the two."""
    moments = random.Random(seed)
    states = {}
    for word in ("one", "two"):
        root = folder / word
        for number in range(30):
            path = root / ("kb" if number % 2 else "results") / f"{word if number % 3 else 'both'}-{number}" / "a.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(word * moments.randint(1, 20_000))
        save_backup(folder / f"{word}.zip", DataFolder(root), "1")
        states[word] = _contents(root)
    for what, act, look in (
        ("backup", partial(_back_up, folder), partial(_archived, folder)),
        ("restore", partial(_put_back, folder), partial(_restored, folder)),
    ):
        act("one")
        began = time.monotonic()
        act("two")
        span = time.monotonic() - began
        old = "two"
        for kill in range(kills // 2):
            new = "one" if old == "two" else "two"
            _killed_after(moments.uniform(0, span * 1.3), partial(act, new))
            there = next((word for word, state in states.items() if look() == state), "")
            report.kills[f"{what}: {'new' if there == new else 'old'}"] += 1
            if not there:
                report.differences.append(f"kill {kill} of a {what} left neither state")
            old = there or old
            if kill % 5 == 4:  # the next one works
                act(old)


def _back_up(folder: Path, word: str) -> None:
    save_backup(folder / "target.zip", DataFolder(folder / word), "1")


def _archived(folder: Path) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as place, open_backup(folder / "target.zip") as backup:
        restore(backup, DataFolder(Path(place) / "x"))
        return _contents(Path(place) / "x")


def _put_back(folder: Path, word: str) -> None:
    with open_backup(folder / f"{word}.zip") as backup:
        restore(backup, DataFolder(folder / "target"), replace=True)


def _restored(folder: Path) -> dict[str, bytes]:
    """The contents as a program sees them that has just been started."""
    if (handle := use_folder(DataFolder(folder / "target"))) is not None:
        os.close(handle)
    return _contents(folder / "target")


def _contents(root: Path) -> dict[str, bytes]:
    paths = {path.relative_to(root): path for path in root.rglob("*") if path.is_file()}
    return {str(name): path.read_bytes() for name, path in paths.items() if not name.parts[0].startswith(".")}


def _killed_after(seconds: float, act: Callable[[], Any]) -> None:
    process = os.fork()
    if process == 0:
        act()
        os._exit(0)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backups", type=int, default=40)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    forget_settings()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        at_work(Path(folder) / "work", arguments.backups, arguments.seed, report)
        (Path(folder) / "kills").mkdir()
        killed(Path(folder) / "kills", arguments.kills, arguments.seed, report)
    if arguments.json:
        print(json.dumps(vars(report), ensure_ascii=False))
    else:
        print("backups during work:", dict(report.backups), "runs resumed from them:", report.resumed)
        print("kills and what was there afterwards:", dict(report.kills))
        print("verdict:", "; ".join(report.differences[:20]) or "each state is one that existed")
    return int(bool(report.differences))


if __name__ == "__main__":
    raise SystemExit(main())
