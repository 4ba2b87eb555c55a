"""The baseline file of a gate: small JSON with one line per question, made to be kept in a repository."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.errors import NotComparable
from chatbot_mvp.evaluation.drops.scores import TESTED_METRICS, Measured
from chatbot_mvp.runs.result import first_problem, later_format
from chatbot_mvp.runs.rows import STORED
from chatbot_mvp.storage.files import naming, write_atomically
from chatbot_mvp.storage.formats import BASELINE
from chatbot_mvp.wings.gate.errors import GateError

_NAMED = 3  # ids of questions that an error names


@dataclass(frozen=True, slots=True)
class Source:
    """What to measure, as given on the command line, so that a baseline is enough to measure it again.

    What was not given is "", in files too.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    kb: str = ""
    """Id of a knowledge base, or path of a document."""
    questions: str = ""
    """Path of a question file for ``kb``."""
    dataset: str = ""
    """Name or path of a data set, instead of ``kb``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The scores that later ones must not fall below."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    format_version: int
    """``storage.formats.BASELINE`` of the program that wrote it."""
    created_at: str
    """ISO 8601, UTC."""
    commit: str
    """Commit of the measured code, if given."""
    source: Source
    gated: tuple[str, ...]
    """Metrics that a gate tests by default; the questions may have scores of more."""
    measured: Measured


def save_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline; an existing file is replaced.

    Raises:
        FileNotWritten
    """
    head = asdict(replace(baseline, measured=replace(baseline.measured, questions={}, texts={})))
    del head["measured"]["texts"]
    lines = [
        f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(asdict(one), ensure_ascii=False)}"
        for name, one in baseline.measured.questions.items()
    ]
    body = json.dumps(head, ensure_ascii=False, indent=1)
    text = body.replace('"questions": {}', '"questions": {\n' + ",\n".join(lines) + "\n  }", 1) + "\n"
    with naming(path):
        write_atomically(path, text.encode("utf-8", "replace"))


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        GateError (baseline_unreadable): there is no file, or it is not a baseline that this version reads.
    """
    try:
        content = path.read_bytes()
        if later := later_format(content, BASELINE):
            raise GateError("baseline_unreadable", path=str(path), reason=later)
        baseline = _adapter().validate_json(content)
        _refuse_impossible(path, baseline.measured)
        return baseline
    except OSError as error:
        raise GateError("baseline_unreadable", path=str(path), reason=error.strerror or str(error)) from error
    except ValidationError as error:
        raise GateError("baseline_unreadable", path=str(path), reason=first_problem(error)) from error


def _refuse_impossible(path: Path, measured: Measured) -> None:
    """Raise GateError for a score outside its metric's range, or a noise below 0: no run gives them."""
    for query_id, one in measured.questions.items():
        for name, score in one.scores.items():
            spec = TESTED_METRICS.get(name)
            if score is None or spec is None:
                continue
            if score < spec.low or (spec.high is not None and score > spec.high):
                high = "any" if spec.high is None else f"{spec.high:g}"
                reason = f"question {query_id!r} has {name} {score:g}; legal are {spec.low:g} to {high}"
                raise GateError("baseline_unreadable", path=str(path), reason=reason)
        for name, noise in one.noise.items():
            if noise < 0:
                reason = f"question {query_id!r} has a noise of {noise:g} in {name}; legal is 0 or more"
                raise GateError("baseline_unreadable", path=str(path), reason=reason)


def require_same(path: str, before: Measured, today: Measured, common_only: bool) -> list[str]:
    """Return the ids of the questions to pair, in the baseline's order.

    Args:
        common_only: pair the questions that both have with the same text, and accept other differences.

    Raises:
        GateError (baseline_questions_differ, baseline_content_differs): without ``common_only``.
        NotComparable (nothing_to_gate): there is no common question, or the kinds of run differ.
    """
    if before.kind != today.kind:
        raise NotComparable("nothing_to_gate", path=path, reason=f"the kinds of run are {before.kind} and {today.kind}")
    removed = [name for name in before.questions if name not in today.questions]
    added = [name for name in today.questions if name not in before.questions]
    both = [name for name in before.questions if name in today.questions]
    changed = [name for name in both if before.questions[name].digest != today.questions[name].digest]
    if not common_only and (removed or added or changed):
        raise GateError(
            "baseline_questions_differ",
            path=path,
            only_baseline=len(removed),
            removed=_some(removed),
            only_today=len(added),
            added=_some(added),
            count_changed=len(changed),
            changed=_some(changed),
        )
    if not common_only and before.content_sha256 != today.content_sha256:
        text = before.text_sha256 != today.text_sha256
        raise GateError(
            "baseline_content_differs",
            path=path,
            what="the text of the knowledge base" if text else "documents, judgements or expected paragraphs",
            baseline=before.content_sha256[:12],
            today=today.content_sha256[:12],
        )
    different = set(changed)
    paired = [name for name in both if name not in different]
    if not paired:
        raise NotComparable("nothing_to_gate", path=path, reason="they have no question in common")
    return paired


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in ids[:_NAMED])
    return f"{shown}, …" if len(ids) > _NAMED else shown or "none"


@cache
def _adapter() -> TypeAdapter[Baseline]:
    return TypeAdapter(Baseline)
