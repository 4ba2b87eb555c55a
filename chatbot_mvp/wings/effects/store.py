"""Keep comparisons on disk, in ``<kb>/evaluation/effects/<effects_id>/``.

``plan.json``      the versions and the questions, written once
``answers.jsonl``  a line per answer. A comparison is finished when every question has one of each version.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from chatbot_mvp.app import App
from chatbot_mvp.errors import ChatbotError, RunError
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.storage.files import is_held, make_folder, make_new_folder, naming, write_json
from chatbot_mvp.storage.formats import EFFECTS, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from chatbot_mvp.storage.lru import FileCache
from chatbot_mvp.wings.effects.errors import EffectsError
from chatbot_mvp.wings.effects.types import SIDES, Answers, EffectsPlan, Side, SideAnswer

_CACHED_BYTES = 30_000_000
"""Total size of the files whose content stays in memory, because a page reads them each time it is drawn."""
_PLAN, _ANSWERS, _LOCK = "plan.json", "answers.jsonl", ".lock"
_log = logging.getLogger(__name__)

Key = tuple[str, str]
"""(id of a version, hash of a question): what one answer was given to."""


class EffectsFolder:
    """The files of one comparison."""

    def __init__(self, root: Path, kb_id: str, effects_id: str) -> None:
        """``root`` is the folder of the knowledge bases."""
        self.kb_id, self.effects_id = kb_id, effects_id
        self.path = root / kb_id / "evaluation" / "effects" / effects_id
        self.plan_path, self.answers_path = self.path / _PLAN, self.path / _ANSWERS

    def create(self, plan: EffectsPlan) -> None:
        """Create the folder and write the plan.

        Raises:
            FileNotWritten
        """
        with naming(self.path):
            make_folder(self.path.parent)
            make_new_folder(self.path)
            write_json(self.plan_path, {VERSION: EFFECTS, **asdict(plan)})

    def plan(self) -> EffectsPlan:
        """Read the plan.

        Raises:
            EffectsError (effects_not_found)
            FileOfLaterVersion
        """
        path = self.plan_path
        try:
            if not re.fullmatch(r"[\w-]+", self.effects_id):
                raise ValueError("no id of a comparison")
            values = known_version(parse_json(path.read_bytes()), path, EFFECTS)
            plan: EffectsPlan = _plans().validate_json(json.dumps(values))
            return plan
        except (OSError, ValueError, AttributeError) as error:
            _log.debug("the comparison in %s cannot be read: %s", path, error)
            raise EffectsError("effects_not_found", kb_id=self.kb_id, effects_id=self.effects_id) from error

    def answers(self, plan: EffectsPlan) -> dict[Side, dict[str, SideAnswer]]:
        """Return the answers so far. Damaged lines, and those of later versions, are missing answers."""
        found: dict[Side, dict[str, SideAnswer]] = {side: {} for side in SIDES}
        asked = {one.question_id for one in plan.questions}
        for row in read_lines(self.answers_path)[0]:
            with suppress(ValidationError, KeyError, TypeError):
                side = row.pop("side")
                question_id = row.pop("question_id")
                if row.pop(VERSION) == EFFECTS and side in found and question_id in asked:
                    found[side][question_id] = _sides().validate_json(json.dumps(row))
        return found

    def add(self, side: Side, question_id: str, answer: SideAnswer) -> None:
        """Keep an answer, which replaces the one that the question may have.

        Raises:
            FileNotWritten
        """
        with naming(self.answers_path):
            append_lines(
                self.answers_path, [{VERSION: EFFECTS, "side": side, "question_id": question_id, **asdict(answer)}]
            )

    @property
    def busy(self) -> bool:
        """Whether a process works on it."""
        return is_held(self.path / _LOCK)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the comparison's lock while working on it. The system frees the lock when the process dies.

        Raises:
            RunError (run_busy): another process or thread holds the lock.
        """
        # Wait a moment, because a page that reads the state holds the lock for an instant.
        lock = FileLock(self.path / _LOCK, timeout=2, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise RunError("run_busy", run_id=self.effects_id) from error
        try:
            yield
        finally:
            lock.release()

    def delete(self) -> None:
        """Delete the comparison. Does nothing if it is gone."""
        shutil.rmtree(self.path, ignore_errors=True)


class EffectsStore:
    """Reads the comparisons of all knowledge bases. Safe to share between threads."""

    def __init__(self, root: Path) -> None:
        """``root`` is the folder of the knowledge bases."""
        self._root = root
        self._plans: FileCache[EffectsPlan] = FileCache(_CACHED_BYTES)
        self._answers: FileCache[Answers] = FileCache(_CACHED_BYTES)

    def folder(self, kb_id: str, effects_id: str) -> EffectsFolder:
        """Return the files of a comparison, which need not exist."""
        return EffectsFolder(self._root, kb_id, effects_id)

    def folders(self, kb_id: str) -> list[EffectsFolder]:
        """Return the comparisons of a knowledge base, newest first."""
        paths = (self._root / kb_id / "evaluation" / "effects").glob(f"*/{_PLAN}")
        return [self.folder(kb_id, name) for name in sorted((path.parent.name for path in paths), reverse=True)]

    def read(self, folder: EffectsFolder) -> tuple[EffectsPlan, Answers]:
        """Return the plan and the answers so far. Raises as ``EffectsFolder.plan``."""
        plan = self._plans.get(folder.plan_path, folder.plan)
        return plan, self._answers.get(folder.answers_path, lambda: folder.answers(plan))

    def known(self, kb_id: str) -> dict[Key, SideAnswer]:
        """Return the answers of all comparisons by what they were given to, so that nothing is asked twice."""
        found: dict[Key, SideAnswer] = {}
        for folder in reversed(self.folders(kb_id)):
            with suppress(ChatbotError):
                plan, answers = self.read(folder)
                found |= {
                    (plan.version(side), digest_of(question)): answers[side][question.question_id]
                    for side in SIDES
                    for question in plan.questions
                    if question.question_id in answers[side]
                }
        return found


def digest_of(question: KbQuestion) -> str:
    """Return a hash of what a question asks and what is right; its id and heading do not count."""
    values = [question.question, question.kind, question.paragraph]
    return hashlib.sha256(json.dumps(values).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _plans() -> TypeAdapter[Any]:
    return TypeAdapter(EffectsPlan)


@cache
def _sides() -> TypeAdapter[Any]:
    return TypeAdapter(SideAnswer)


def _purge(app: App, purged: Purged) -> int:
    folders = EffectsStore(app.settings.kb_dir).folders(purged.kb_id)
    for folder in folders:
        folder.delete()
    return len(folders)


KEEPER = KbKeeper(purge=_purge)
"""Comparisons hold passages of both versions."""
