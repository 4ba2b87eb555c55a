"""Verdicts of people on the chat's answers, and the labelled questions that they become."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.relevance import Outcome
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion
from chatbot_mvp.metrics.decisions import ANSWERABLE
from chatbot_mvp.text import fold, normalize, without_unseen
from chatbot_mvp.wings.review.errors import ReviewError

Verdict = Literal["right", "wrong", "should_refuse", "should_answer", "skip"]
"""right: the answer is right, or the refusal is. wrong: the answer is wrong, but the knowledge base has the right one.
should_refuse: the knowledge base does not answer the question. should_answer: it does, and the chat refused. skip: the
reviewer cannot decide; a skip is no label."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
SKIP: Verdict = "skip"
_OF_ANSWER: tuple[Verdict, ...] = ("right", "wrong", "should_refuse", SKIP)
_OF_REFUSAL: tuple[Verdict, ...] = ("right", "should_answer", SKIP)
IN_DOUBT = 0.15
"""Distance of the evidence from the threshold within which an answer counts as in doubt."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A question of the chat with its answer, to be reviewed. Equal questions are one item."""

    item_id: str
    question: str
    answer: str
    outcome: Outcome
    evidence: float
    """Evidence score, 0-1."""
    asked_at: str
    """ISO 8601, UTC."""
    times: int
    """How often the question was asked."""
    bad: bool
    """Whether a reader gave it a thumbs down."""
    note: str
    """The reader's note; "" without one."""
    passages: tuple[Source, ...]
    """Cited passages with their highlights, then others that were found; for a refusal, those that stand nearest."""
    cited: int
    """Number of the first ``passages`` that the answer cites."""
    far: bool
    """Whether the search took the question to be about something else than the knowledge base."""

    @property
    def legal(self) -> tuple[Verdict, ...]:
        """The verdicts that the item can have."""
        return _OF_ANSWER if self.outcome == "answered" else _OF_REFUSAL

    def priority(self, threshold: float) -> tuple[int, float]:
        """Sort key: thumbs down first, then refusals and answers in doubt, then the rest, closest to the threshold.

        Args:
            threshold: evidence threshold of strict mode, 0-1.
        """
        distance = abs(self.evidence - threshold)
        doubtful = self.outcome != "answered" or distance <= IN_DOUBT
        return 0 if self.bad else 1 if doubtful else 2, distance


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """What one person said about one item, with the label that follows."""

    verdict_id: str
    item_id: str
    verdict: Verdict
    reviewer: str
    at: str
    """ISO 8601, UTC."""
    question: str
    answer: str
    outcome: str
    kind: str
    paragraph: str = ""
    """Text of the passage that answers the question, verbatim; "" if none was named."""
    heading: str = ""

    @property
    def label(self) -> KbQuestion:
        """The labelled question."""
        return KbQuestion(
            question_id(self.item_id), self.question, self.kind, self.paragraph or None, self.heading or None
        )


@dataclass
class ReviewState:
    """What the lines of a review file say together."""

    given: dict[tuple[str, str], GivenVerdict] = field(default_factory=dict)
    """(item id, reviewer as ``reviewer_key`` gives it) -> the verdict that counts."""
    decided: dict[str, GivenVerdict] = field(default_factory=dict)
    """Item id -> decision on a disagreement."""
    set_id: str = ""
    """The question set that takes the labels; "" before the first one."""
    written: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Item id -> (set id, label as a line) as last written to the set."""
    lines: dict[str, int] = field(default_factory=dict)
    """Verdict id -> its place among the lines of verdicts and decisions."""

    def of(self, item_id: str) -> list[GivenVerdict]:
        """Return the verdicts on an item in the order in which they were given, without skips."""
        return [one for (item, _), one in self.given.items() if item == item_id and one.verdict != SKIP]

    def items(self) -> list[str]:
        """Return the ids of all items with a verdict, a decision or a label."""
        return list(dict.fromkeys([*(item for item, _ in self.given), *self.decided, *self.written]))

    def settled(self, item_id: str) -> GivenVerdict | None:
        """Return what counts for an item: the decision, else the common verdict; None if there is neither."""
        if item_id in self.decided:
            return self.decided[item_id]
        found = self.of(item_id)
        return found[0] if found and len({one.verdict for one in found}) == 1 else None

    def disputed(self) -> list[list[GivenVerdict]]:
        """Return the verdicts on each item about which reviewers disagree and that nobody has decided."""
        found = [self.of(item) for item in self.items() if item not in self.decided]
        return [verdicts for verdicts in found if len({one.verdict for one in verdicts}) > 1]

    def pending(self) -> dict[str, KbQuestion | None]:
        """Return item id -> its label, or None to remove it, for the items that the set does not have like that."""
        wanted = {item: settled.label if (settled := self.settled(item)) else None for item in self.items()}
        return {
            item: label
            for item, label in wanted.items()
            if self.written.get(item, (self.set_id, "")) != (self.set_id, _line(label))
        }

    def last_of(self, reviewer: str) -> GivenVerdict | None:
        """Return the reviewer's latest verdict or decision; None if there is none."""
        key = reviewer_key(reviewer)
        own = [one for one in (*self.given.values(), *self.decided.values()) if reviewer_key(one.reviewer) == key]
        # By their lines and not by their times: another server's clock may differ, or this one's have been set back.
        return max(own, key=lambda one: self.lines[one.verdict_id], default=None)


def state_of(rows: Sequence[Mapping[str, Any]]) -> ReviewState:
    """Combine the lines of a review file. Lines of an unknown form are ignored."""
    state = ReviewState()
    for row in rows:
        try:
            _take(state, row)
        except (KeyError, TypeError, AttributeError):
            continue
    return state


def item_id_of(question: str) -> str:
    """Return the id of a question; case and accents make no difference."""
    return hashlib.sha256(fold(" ".join(question.split())).encode("utf-8", "replace")).hexdigest()[:12]


def question_id(item_id: str) -> str:
    """Return the id of an item's labelled question in a set."""
    return f"rv-{item_id}"


def reviewer_key(name: str) -> str:
    """Return a reviewer's name without what makes no other person: case, blanks, and characters that nobody sees.

    "" is nobody.
    """
    return "".join(visible_name(name).split()).casefold()


def visible_name(name: str) -> str:
    """Return a name in its compatible form (NFKC), in one line and without characters that nobody sees; may be ""."""
    seen = without_unseen(normalize("NFKC", name))
    # Without what stood between them, a letter and its accent may be one letter.
    return " ".join(normalize("NFKC", seen).split())


def verdict_of(text: str) -> Verdict | None:
    """Return the verdict that a text names; None if it names none."""
    return next((verdict for verdict in VERDICTS if verdict == text), None)


def kind_after(item: ReviewItem, verdict: Verdict) -> str:
    """Return the kind of an item's question after a verdict.

    Raises:
        ReviewError (verdict_not_possible): the item cannot have this verdict.
    """
    if verdict not in item.legal:
        legal = ", ".join(item.legal)
        raise ReviewError(
            "verdict_not_possible", verdict=verdict, item_id=item.item_id, outcome=item.outcome, legal=legal
        )
    answerable = verdict in ("wrong", "should_answer") or (verdict == "right" and item.outcome == "answered")
    return ANSWERABLE if answerable else "far" if item.far else "near"


def with_labels(questions: QuestionSet, labels: Mapping[str, KbQuestion | None]) -> QuestionSet:
    """Return the set with the labels added, replaced or, for None, removed. A question of another origin stays."""
    ours = {question_id(item): label for item, label in labels.items()}
    kept = []
    for each in questions.questions:
        label = ours.pop(each.question.question_id, each.question)
        if label is not None:
            kept.append(each if label is each.question else SetQuestion(label, each.keep, "review"))
    added = [SetQuestion(label, origin="review") for label in ours.values() if label is not None]
    return replace(questions, questions=tuple(kept)).with_added(added)


def for_two(item_id: str, share: float) -> bool:
    """Return whether an item is shown to a second reviewer. Its wording alone decides.

    Args:
        share: share of the items that are, 0-1.
    """
    limit: float = share * 16 ** len(item_id)
    return int(item_id, 16) < limit


def _take(state: ReviewState, row: Mapping[str, Any]) -> None:
    match row["type"]:
        case "verdict" | "decision":
            given = GivenVerdict(**{name: row[name] for name in GivenVerdict.__slots__})
            if given.verdict not in VERDICTS or not all(isinstance(row[n], str) for n in given.__slots__):
                return
            state.lines[given.verdict_id] = len(state.lines)
            if row["type"] == "decision":
                state.decided[given.item_id] = given
                return
            key = (given.item_id, reviewer_key(given.reviewer))
            state.given.pop(key, None)  # so that the latest one stands last
            state.given[key] = given
        case "undo":
            gone = row["verdict_id"]
            state.given = {key: one for key, one in state.given.items() if one.verdict_id != gone}
            state.decided = {key: one for key, one in state.decided.items() if one.verdict_id != gone}
        case "set":
            state.set_id = str(row["set_id"])
        case "written":
            state.written[str(row["item_id"])] = (str(row["set_id"]), str(row["label"]))


def _line(label: KbQuestion | None) -> str:
    return label.as_line() if label else ""
