"""Review the chat's answers: what waits, verdicts in ``<kb>/evaluation/reviews.jsonl``, labels in a question set."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from chatbot_mvp.app import App
from chatbot_mvp.errors import QuestionSetChanged, QuestionSetNotFound
from chatbot_mvp.evaluation.kb.sets import QuestionSet
from chatbot_mvp.metrics.decisions import ANSWERABLE
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import lock_beside, make_folder, naming
from chatbot_mvp.storage.formats import REVIEWS, VERSION, IncompleteFile, known_version
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from chatbot_mvp.wings.review.agreement import ReviewerAgreement, agreement_of
from chatbot_mvp.wings.review.errors import ReviewError
from chatbot_mvp.wings.review.live_answers import LiveAnswers
from chatbot_mvp.wings.review.settings import ReviewSettings
from chatbot_mvp.wings.review.verdicts import (
    SKIP,
    GivenVerdict,
    ReviewItem,
    ReviewState,
    Verdict,
    for_two,
    kind_after,
    reviewer_key,
    state_of,
    visible_name,
    with_labels,
)

_TRIES = 5
_NAME_CHARS = 80
Order = Literal["doubtful", "random"]
"""doubtful: ``ReviewItem.priority``. random: the same random order for everybody, so that the first items are a simple
random sample of the questions."""


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """The state of the reviews of a knowledge base."""

    labelled: int
    """Number of items whose verdict counts as a label."""
    skipped: int
    """Number of skips."""
    set_id: str
    """The question set that takes the labels; "" before the first one."""
    agreement: ReviewerAgreement
    disputed: tuple[tuple[GivenVerdict, ...], ...]
    """The verdicts on each item about which reviewers disagree and that nobody has decided."""


class Reviews:
    """The reviews of all knowledge bases. Safe to share between sessions."""

    def __init__(self, app: App) -> None:
        self._live = app.live
        self._kbs = app.kbs
        self._question_sets = app.question_sets
        self._answers = LiveAnswers(app.settings.conversations_dir)

    @classmethod
    def of(cls, app: App) -> Self:
        """Make the reviews over an App."""
        return cls(app)

    @performs(Action.REVIEW)
    def waiting(
        self, kb_id: str, reviewer: str, order: Order = "doubtful", session: str | None = None
    ) -> list[ReviewItem]:
        """Return the items that a reviewer has not judged and that need a verdict.

        An item needs one verdict, or those of two people if it belongs to the share ``KB_REVIEW_TWICE_SHARE``.

        Args:
            session: the only session whose conversations are read; None for all.

        Raises:
            KbNotFound, KbUnreadable, FileOfLaterVersion
        """
        state, settings = self._state(kb_id), self._live.current
        share, key = settings.of(ReviewSettings).kb_review_twice_share, reviewer_key(reviewer)

        def needed(item_id: str) -> bool:
            if (item_id, key) in state.given or item_id in state.decided:
                return False
            return len(state.of(item_id)) < (2 if for_two(item_id, share) else 1)

        items = self._answers.items(kb_id, self._kbs.contents(kb_id).chunks, session)
        found = [item for item in items if needed(item.item_id)]
        if order == "random":
            return sorted(found, key=lambda item: item.item_id[::-1])  # the beginning of the id decides who is for two
        return sorted(found, key=lambda item: item.priority(settings.kb_min_evidence))

    def item(self, kb_id: str, item_id: str) -> ReviewItem:
        """Return an item, also one that waits for nobody.

        Raises:
            KbNotFound, KbUnreadable, ReviewError (review_item_not_found)
        """
        items = self._answers.items(kb_id, self._kbs.contents(kb_id).chunks)
        found = next((item for item in items if item.item_id == item_id), None)
        if found is None:
            raise ReviewError("review_item_not_found", kb_id=kb_id, item_id=item_id)
        return found

    @performs(Action.REVIEW)
    def judge(
        self, kb_id: str, item: ReviewItem, verdict: Verdict, reviewer: str, passage: int | None = None
    ) -> GivenVerdict:
        """Record a verdict and write the label into the question set. A later verdict replaces the same person's one.

        The label's passage is the chosen one; for a right answer without a choice, the paragraph of its first quote.

        Args:
            passage: position in ``item.passages``, from 0; None for no choice.

        Raises:
            KbNotFound, KbUnreadable, ReviewError (verdict_not_possible, no_reviewer), FileOfLaterVersion
            FileNotWritten: nothing was recorded.
            QuestionSetChanged: the verdict is recorded; the next one writes both labels.
        """
        kind = kind_after(item, verdict)
        paragraph, heading = "", ""
        if kind == ANSWERABLE and verdict != SKIP:
            paragraph, heading = self._passage(kb_id, item, verdict, passage)
        name = _named(reviewer)
        given = GivenVerdict(
            f"v-{secrets.token_hex(6)}",
            item.item_id,
            verdict,
            name,
            utc_now(),
            item.question,
            item.answer,
            item.outcome,
            kind,
            paragraph,
            heading,
        )
        record = self._kbs.store.record(kb_id)
        made_on = {"kb_sha256": record.sha256, "kb_version": record.number}
        self._append(kb_id, {"type": "verdict", **asdict(given), **made_on})
        return given

    @performs(Action.REVIEW)
    def undo(self, kb_id: str, reviewer: str) -> GivenVerdict | None:
        """Take back the reviewer's latest verdict or decision, and its label; return it, or None if there is none.

        Raises:
            as ``judge``
        """
        last = self._state(kb_id).last_of(_named(reviewer))
        if last is not None:
            self._append(kb_id, {"type": "undo", "verdict_id": last.verdict_id, "at": utc_now()})
        return last

    @performs(Action.REVIEW)
    def decide(self, kb_id: str, item_id: str, verdict: Verdict, reviewer: str) -> GivenVerdict:
        """Decide a disagreement for one of the verdicts that were given on the item.

        Raises:
            ReviewError (review_item_not_found): nobody has judged the item.
            ReviewError (verdict_not_possible): nobody gave it this verdict.
            as ``judge``
        """
        found = self._state(kb_id).of(item_id)
        if not found:
            raise ReviewError("review_item_not_found", kb_id=kb_id, item_id=item_id)
        chosen = next((one for one in found if one.verdict == verdict), None)
        if chosen is None:
            legal = ", ".join(sorted({one.verdict for one in found}))
            raise ReviewError(
                "verdict_not_possible", verdict=verdict, item_id=item_id, outcome=found[0].outcome, legal=legal
            )
        decided = replace(chosen, verdict_id=f"v-{secrets.token_hex(6)}", reviewer=_named(reviewer), at=utc_now())
        self._append(kb_id, {"type": "decision", **asdict(decided)})
        return decided

    @performs(Action.REVIEW)
    def choose_set(self, kb_id: str, set_id: str) -> None:
        """Let a question set take the labels, those given so far included.

        Raises:
            QuestionSetNotFound
            as ``judge``
        """
        self._question_sets.question_set(kb_id, set_id)
        self._append(kb_id, {"type": "set", "set_id": set_id})

    @performs(Action.REVIEW)
    def summary(self, kb_id: str, session: str | None = None) -> ReviewSummary:
        """Return the state of the reviews.

        Args:
            session: the only session about whose answers disagreements are returned; None for all.

        Raises:
            FileOfLaterVersion
        """
        state = self._state(kb_id)
        disputed = state.disputed()
        if session is not None:
            own = {item.item_id for item in self._answers.items(kb_id, (), session)}
            disputed = [each for each in disputed if each[0].item_id in own]
        verdicts: dict[str, dict[str, str]] = {}
        for (item, reviewer), one in state.given.items():
            if one.verdict != SKIP:
                verdicts.setdefault(item, {})[reviewer] = one.verdict
        return ReviewSummary(
            sum(state.settled(item) is not None for item in state.items()),
            sum(one.verdict == SKIP for one in state.given.values()),
            state.set_id,
            agreement_of(list(verdicts.values())),
            tuple(tuple(each) for each in disputed),
        )

    def references(self, kb_id: str) -> Iterator[str]:
        """Yield the hashes of the texts that verdicts were given on."""
        for row in read_lines(self._path(kb_id))[0]:
            if isinstance(found := row.get("kb_sha256"), str):
                yield found

    def _passage(self, kb_id: str, item: ReviewItem, verdict: Verdict, position: int | None) -> tuple[str, str]:
        """Return (text, section) of the passage of a label; ("", "") if there is none."""
        if position is None and (verdict != "right" or not item.cited):
            return "", ""
        if position is not None and not 0 <= position < len(item.passages):
            legal = f"a passage from 1 to {len(item.passages)}"
            raise ReviewError(
                "verdict_not_possible",
                verdict=f"{verdict} {position + 1}",
                item_id=item.item_id,
                outcome=item.outcome,
                legal=legal,
            )
        source = item.passages[position or 0]
        chunk, text = source.chunk, self._kbs.document(kb_id).text
        # A reviewer's choice is the whole chunk; a citation is known more closely.
        if source.highlights and text[chunk.start : chunk.end] == chunk.text:
            start, end = source.highlights[0]
            before, after = text.rfind("\n\n", 0, start), text.find("\n\n", end)
            start = max(chunk.start, before + 2 if before >= 0 else 0)
            return text[start : min(chunk.end, after if after >= 0 else len(text))].strip(), chunk.section
        return chunk.text, chunk.section

    def _append(self, kb_id: str, row: Mapping[str, Any]) -> None:
        """Append a line, then write all labels that the question set does not have yet.

        If the process dies in between, the next call writes them.
        """
        self._kbs.store.record(kb_id)
        path = self._path(kb_id)
        with naming(path):
            make_folder(path.parent)
            with lock_beside(path):
                state = self._state(kb_id)  # a file of a later version gets no line
                append_lines(path, [{VERSION: REVIEWS, **row}])
                state = self._state(kb_id)
                self._write_labels(kb_id, state, path)

    def _write_labels(self, kb_id: str, state: ReviewState, path: Path) -> None:
        for left in reversed(range(_TRIES)):
            if not state.pending():
                return
            try:
                questions = self._set(kb_id, state)
                state.set_id = questions.set_id
                pending = state.pending()
                self._question_sets.save(with_labels(questions, pending))
                break
            except QuestionSetChanged:  # by someone who edits the set on the page: read it again
                if not left:
                    raise
        rows = [
            {"type": "written", "item_id": item, "set_id": state.set_id, "label": label.as_line() if label else ""}
            for item, label in pending.items()
        ]
        append_lines(path, [{VERSION: REVIEWS, **row} for row in rows])

    def _set(self, kb_id: str, state: ReviewState) -> QuestionSet:
        """Return the set that takes the labels; a new one if there is none."""
        if state.set_id:
            with suppress(QuestionSetNotFound):
                return self._question_sets.question_set(kb_id, state.set_id)
        name = "Respuestas revisadas" if self._kbs.store.record(kb_id).language == "es" else "Reviewed answers"
        made = self._question_sets.empty_set(kb_id, name)
        append_lines(self._path(kb_id), [{VERSION: REVIEWS, "type": "set", "set_id": made.set_id}])
        return made

    def _state(self, kb_id: str) -> ReviewState:
        path = self._path(kb_id)
        rows = []
        for row in read_lines(path)[0]:
            with suppress(IncompleteFile):  # a damaged line counts no more than one that is no JSON
                rows.append(known_version(row, path, REVIEWS))
        return state_of(rows)

    def _path(self, kb_id: str) -> Path:
        return self._live.current.kb_dir / kb_id / "evaluation" / "reviews.jsonl"


def _named(reviewer: str) -> str:
    name = visible_name(reviewer)[:_NAME_CHARS].strip()
    if not reviewer_key(name):
        raise ReviewError("no_reviewer", name=reviewer)
    return name
