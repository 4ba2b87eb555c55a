"""Make, keep and check the promise of each knowledge base, which is risk control: ``<kb>/evaluation/promise.json``."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from chatbot_mvp.app import App
from chatbot_mvp.errors import FileOfLaterVersion, KbResultNotFound, QuestionSetNotFound
from chatbot_mvp.evaluation.kb.results import KbResult, ResultRow
from chatbot_mvp.evaluation.kb.sets import Origin, SetQuestion
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.knowledge_base.versions import Version
from chatbot_mvp.metrics.decisions import UNANSWERABLE
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder, naming, write_json
from chatbot_mvp.storage.formats import PROMISE, VERSION
from chatbot_mvp.storage.json_object import InvalidJson, read_object
from chatbot_mvp.wings.promise.calibration import ALPHA, FIT_SHARE, LabelledQuestion, Unit
from chatbot_mvp.wings.promise.errors import PromiseError
from chatbot_mvp.wings.promise.kb_change import KbChange, lapsed_of, verdict_of
from chatbot_mvp.wings.promise.labelled import check_passage, groups_of, labelled_rows, part_names, score_of
from chatbot_mvp.wings.promise.live_watch import LiveWatch, watch_live
from chatbot_mvp.wings.promise.promise import Basis, Promise, make_promise, promise_of, questions_sha256
from chatbot_mvp.wings.promise.repeats import without_repeats
from chatbot_mvp.wings.promise.risk import answers_needed

_PEOPLE: tuple[Origin, ...] = ("person", "file", "chat", "review")
"""Origins that count. A proposal that a person rewords has the origin "person"; a file does not say who wrote it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PromiseState:
    """The promise of a knowledge base, and whether it applies now."""

    promise: Promise
    changed: tuple[str, ...]
    """What has changed since, for which the promise is taken back: "kb", "configuration", "questions", or "live" if the
    chat's questions differ from the labelled ones."""
    in_chat: bool
    """Whether KB_MIN_PROOF is a value for which the promise is made."""

    @property
    def applies(self) -> bool:
        """Whether there is a promise and nothing that it rests on has changed."""
        return self.promise.made and not self.changed


class Promises:
    """The promises of all knowledge bases. Safe to share between sessions."""

    def __init__(self, app: App) -> None:
        self._live = app.live
        self._kbs = app.kbs
        self._evaluation = app.kb_evaluation
        self._question_sets = app.question_sets
        self._changes: dict[tuple[str, str, str], KbChange] = {}

    @classmethod
    def of(cls, app: App) -> Self:
        """Make the promises over an App."""
        return cls(app)

    @performs(Action.MEASURE)
    def make(self, kb_id: str, result_id: str, level: float, unit: Unit | None = None) -> PromiseState:
        """Make a promise from a result and save it in place of the earlier one, also if nothing can be promised.

        A question that repeats another one in other words counts once.

        An answer is one with a tick, as the chat gave it when the result was made. It is wrong if none of its quotes
        stands in the labelled paragraph, or if the knowledge base does not answer the question.

        Args:
            level: share of wrong answers, between 0 and 1 exclusive.
            unit: what counts as an independent draw; None for ``usual_unit``.

        Raises:
            KbNotFound, KbUnreadable, KbResultNotFound, QuestionSetNotFound
            PromiseError (result_of_other_text): the text has changed since the result.
            PromiseError (no_labelled_questions): nothing is saved.
            PromiseError: an expected passage is no paragraph, such as a letter or the whole text; nothing is
                saved.
            FileOfLaterVersion, FileNotWritten
        """
        result = self._evaluation.result(kb_id, result_id)
        if self._kbs.store.record(kb_id).sha256 != result.kb_sha256:
            raise PromiseError("result_of_other_text", kb_id=kb_id, result_id=result_id)
        people = self._by_people(kb_id, result.set_id) if result.set_id else None
        rows = labelled_rows(result, people)
        if not rows:
            raise PromiseError("no_labelled_questions", name=result.set_name, count=len(result.rows))
        files, contents = self._kbs.store.files(kb_id), self._kbs.contents(kb_id)
        for row in rows:
            check_passage(row, len(self._kbs.document(kb_id).text))
        asked = [row.question for row in rows]
        basis = Basis(
            result_id,
            result.set_id,
            result.set_name,
            questions_sha256([one.question for one in people] if people is not None else asked),
            result.kb_sha256,
            result.fingerprint,
            {},
            result.provider,
        )
        labelled, repeated = without_repeats(self.judged(result, rows), [row.places for row in rows])
        parts = len(set(part_names(files, contents.chunks)))
        made = make_promise(labelled, len(result.rows) - len(rows), level, basis, unit, parts, result.min_proof or 1.0)
        made = replace(made, made_at=utc_now(), repeated=repeated)
        path = self._path(kb_id)
        with naming(path):
            with suppress(InvalidJson):
                read_object(path, PROMISE)  # a file of a later version must not be replaced
            make_folder(path.parent)
            write_json(path, {VERSION: PROMISE, **asdict(made)})
        return self._state(kb_id, made)

    def judged(self, result: KbResult, rows: Sequence[ResultRow]) -> list[LabelledQuestion]:
        """Judge rows of a result as ``make`` does.

        Raises:
            KbNotFound, KbUnreadable
        """
        store, kb_id = self._kbs.store, result.kb_id
        measured = store.version_with(kb_id, result.kb_sha256)
        version = measured.version_id if measured else ""
        groups = groups_of(rows, store.files(kb_id, version), self._kbs.contents(kb_id, version=version).chunks)
        return [
            LabelledQuestion(row.question, score_of(row, result), self._is_wrong(result, row), group, row.evidence)
            for row, group in zip(rows, groups, strict=True)
        ]

    @performs(Action.READ)
    def labelled(self, kb_id: str) -> int:
        """Return the number of questions of people in the sets of a knowledge base, each counted once."""
        sets = self._question_sets.sets(kb_id)
        return len(
            {one.question.question for each in sets for one in each.questions if one.keep and one.origin in _PEOPLE}
        )

    @performs(Action.READ)
    def needed(self, level: float) -> int:
        """Return how many labelled questions a promise takes, if all of them are answered and all answers are right.

        Args:
            level: promised share of wrong answers, between 0 and 1 exclusive.
        """
        return math.ceil(answers_needed(level, ALPHA) / (1 - FIT_SHARE))

    @performs(Action.READ)
    def state(self, kb_id: str) -> PromiseState | None:
        """Return the latest promise of a knowledge base, checked; None if there is none or its file is damaged.

        Raises:
            KbNotFound, KbUnreadable
        """
        path = self._path(kb_id)
        try:
            read = read_object(path, PROMISE)
            return self._state(kb_id, promise_of(read)) if read else None
        except (InvalidJson, FileOfLaterVersion, OSError, KeyError, TypeError) as error:
            _log.warning("the promise in %s cannot be read: %s", path, error)
            return None

    @performs(Action.MEASURE)
    def watch(self, kb_id: str, promise: Promise) -> LiveWatch:
        """Compare the chat's questions since the promise with the labelled ones."""
        return watch_live(self._live.current.metrics_log_path, kb_id, promise)

    @performs(Action.READ)
    def after_change(self, kb_id: str, promise: Promise) -> KbChange | None:
        """Compute what the changes of a knowledge base did to the labels of a promise; cheap when asked again.

        None if nothing was promised, if nothing has changed, or if the run or the version that was measured is gone.

        Raises:
            KbNotFound, KbUnreadable
        """
        record, basis = self._kbs.store.record(kb_id), promise.basis
        measured = self._kbs.store.version_with(kb_id, basis.kb_sha256)
        if not promise.made or record.sha256 == basis.kb_sha256 or measured is None:
            return None
        key = (kb_id, record.version, promise.made_at)
        with suppress(KbResultNotFound, QuestionSetNotFound):
            if key not in self._changes:
                self._changes = {key: self._after_change(kb_id, promise, measured)}
            return self._changes[key]
        return None

    def _after_change(self, kb_id: str, promise: Promise, measured: Version) -> KbChange:
        basis, store = promise.basis, self._kbs.store
        result = self._evaluation.result(kb_id, basis.result_id)
        rows = labelled_rows(result, self._by_people(kb_id, basis.set_id) if basis.set_id else None)
        lapsed, documents = lapsed_of(rows, measured, store.version(kb_id))
        again = None
        if remaining := [row for row in rows if row.question.question_id not in lapsed]:
            labelled, _ = without_repeats(self.judged(result, remaining), [row.places for row in remaining])
            least = result.min_proof or 1.0
            again = make_promise(labelled, promise.left_out, promise.level, basis, promise.unit, promise.parts, least)
        return KbChange(
            result.version or store.record(kb_id, measured.version_id).number,
            store.record(kb_id).number,
            len(rows),
            lapsed,
            documents,
            verdict_of(lapsed, again),
            again.bound if again else None,
        )

    def references(self, kb_id: str) -> Iterator[str]:
        """Yield the hash of the text that the promise of a knowledge base was made on."""
        with suppress(InvalidJson, FileOfLaterVersion, OSError, KeyError, TypeError):
            if read := read_object(self._path(kb_id), PROMISE):
                yield promise_of(read).basis.kb_sha256

    def _state(self, kb_id: str, promise: Promise) -> PromiseState:
        basis, settings = promise.basis, self._live.current
        changed = []
        if self._kbs.store.record(kb_id).sha256 != basis.kb_sha256:
            changed.append("kb")
        if fingerprint(settings) != basis.fingerprint or settings.provider != basis.provider:
            changed.append("configuration")
        if basis.set_id:
            try:
                found = [one.question for one in self._by_people(kb_id, basis.set_id)]
                same = questions_sha256(found) == basis.questions_sha256
            except QuestionSetNotFound:
                same = False
            if not same:
                changed.append("questions")
        if promise.made and self.watch(kb_id, promise).alarm:
            changed.append("live")
        return PromiseState(promise, tuple(changed), promise.covers(settings.kb_min_proof))

    def _by_people(self, kb_id: str, set_id: str) -> Sequence[SetQuestion]:
        """Return the kept questions of a set that neither rules nor a model made."""
        found = self._question_sets.question_set(kb_id, set_id)
        return [one for one in found.questions if one.keep and one.origin in _PEOPLE]

    def _is_wrong(self, result: KbResult, row: ResultRow) -> bool:
        if row.question.kind in UNANSWERABLE:
            return True
        quoted = [span for source in self._evaluation.found(result, row) for span in source.highlights]
        return not any(start < last and first < end for first, last in quoted for start, end in row.places)

    def _path(self, kb_id: str) -> Path:
        return self._live.current.kb_dir / kb_id / "evaluation" / "promise.json"


def _references(app: App, kb_id: str) -> Iterator[str]:
    return app.get(Promises).references(kb_id)


KEEPER = KbKeeper(references=_references)
"""The version that a promise was made on stays."""
