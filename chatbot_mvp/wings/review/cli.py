"""The command ``kb review``."""

from __future__ import annotations

import getpass
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from chatbot_mvp.app import App
from chatbot_mvp.chat.records import source_json
from chatbot_mvp.cli.common import EnvOption, JsonOption, kb_of, open_app, print_json
from chatbot_mvp.errors import DatasetError
from chatbot_mvp.storage.jsonl import parsed_lines
from chatbot_mvp.terminal import say
from chatbot_mvp.wings.review.errors import ReviewError
from chatbot_mvp.wings.review.service import Order, Reviews, ReviewSummary
from chatbot_mvp.wings.review.verdicts import VERDICTS, ReviewItem, Verdict, verdict_of

review = typer.Typer()

KEYS: dict[str, Verdict] = {"a": "right", "f": "wrong", "n": "should_refuse", "s": "should_answer", "x": "skip"}
_UNDO, _QUIT = "z", "q"
_SHOWN = 600  # characters of an answer or a passage on the terminal


@review.command("review")
def kb_review(
    document: Annotated[str, typer.Argument(help="Name or id of a knowledge base, or its file")],
    label: Annotated[
        bool, typer.Option("--label", help="Label one answer after the other, with a key for each verdict")
    ] = False,
    file: Annotated[
        Path | None, typer.Option(help="JSONL with item, verdict, and optionally passage (from 1), reviewer, decision")
    ] = None,
    reviewer: Annotated[str | None, typer.Option(help="Your name; by default that of your account")] = None,
    random: Annotated[
        bool, typer.Option("--random", help="Random order, so that the first ones are a sample of all questions")
    ] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = kb_of(app, document)
    name = reviewer if reviewer is not None else getpass.getuser()
    order: Order = "random" if random else "doubtful"
    if file is not None:
        _from_file(app, kb_id, file, name)
    elif label:
        _with_keys(app, kb_id, name, order)
    waiting, summary = app.get(Reviews).waiting(kb_id, name, order), app.get(Reviews).summary(kb_id)
    if as_json:
        print_json({"kb_id": kb_id, "waiting": [_item_json(item) for item in waiting], **_summary_json(summary)})
        return
    for item in () if label or file else waiting:
        say(f"{item.item_id}  {item.outcome:8}  {item.evidence:.2f}  {'-' if item.bad else ' '}  {item.question}")
    say(f"waiting: {len(waiting)}; labelled: {summary.labelled}; skipped: {summary.skipped}")
    say(_agreement_text(summary))


def _with_keys(app: App, kb_id: str, name: str, order: Order) -> None:
    """Show one item after the other on stderr and read keys until ``q`` or the end of the input."""
    while True:
        waiting = app.get(Reviews).waiting(kb_id, name, order)
        item = waiting[0] if waiting else None
        if item is None:
            say(f"\nNothing waits. {_UNDO} undo, {_QUIT} quit", error=True)
        else:
            _show(item, len(waiting))
        if not _one_verdict(app, kb_id, name, item):
            return


def _one_verdict(app: App, kb_id: str, name: str, item: ReviewItem | None) -> bool:
    """Read keys until the item is judged or a verdict is taken back; return False to quit."""
    passage = None
    while True:
        key = _key()
        if key in ("", _QUIT, "\x04"):
            return False
        if key == _UNDO:
            undone = app.get(Reviews).undo(kb_id, name)
            say(f"  taken back: {undone.question if undone else 'nothing'}", error=True)
            return True
        if item is not None and key in "123456789":
            passage = int(key) - 1 if int(key) <= len(item.passages) else None
            say(f"  passage: {'none' if passage is None else key}", error=True)
        elif item is not None and KEYS.get(key) in item.legal:
            app.get(Reviews).judge(kb_id, item, KEYS[key], name, passage)
            return True


def _key() -> str:
    """Return the next key in lower case; "" at the end of the input."""
    return (click.getchar() if sys.stdin.isatty() else sys.stdin.read(1)).lower()


def _show(item: ReviewItem, left: int) -> None:
    lines = [f"\n[{left}] {item.question}", f"  {item.outcome}, evidence {item.evidence:.2f}"]
    if item.bad:
        lines.append(f"  thumbs down {item.note}".rstrip())
    lines.append(_indented(item.answer))
    for number, source in enumerate(item.passages, 1):
        cited = " (cited)" if number <= item.cited else ""
        lines.append(f"  ({number}){cited} {source.chunk.section}\n{_indented(source.chunk.text)}")
    keys = [f"{key} {verdict.replace('_', ' ')}" for key, verdict in KEYS.items() if verdict in item.legal]
    lines.append(f"  {', '.join(keys)}, {_UNDO} undo, {_QUIT} quit; a digit chooses the right passage first")
    say("\n".join(lines), error=True)


def _indented(text: str) -> str:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return "\n".join(f"    {line}" for line in shown.splitlines())


def _from_file(app: App, kb_id: str, file: Path, name: str) -> None:
    """Record the verdicts of a file, one per line, up to the first line that cannot be recorded.

    Raises:
        DatasetError, ReviewError
    """
    if not file.is_file():
        raise DatasetError("dataset_file_missing", path=str(file))
    rows, damaged = parsed_lines(file.read_bytes())
    if damaged:
        raise DatasetError("dataset_file_unreadable", path=str(file), reason=f"{damaged} lines are no JSON objects")
    for row in rows:
        item_id, passage, person = str(row.get("item")), row.get("passage"), str(row.get("reviewer") or name)
        verdict = verdict_of(str(row.get("verdict")))
        if verdict is None:
            legal = ", ".join(VERDICTS)
            raise ReviewError(
                "verdict_not_possible", verdict=row.get("verdict"), item_id=item_id, outcome="any", legal=legal
            )
        if row.get("decision"):
            app.get(Reviews).decide(kb_id, item_id, verdict, person)
            continue
        item = app.get(Reviews).item(kb_id, item_id)
        app.get(Reviews).judge(kb_id, item, verdict, person, int(passage) - 1 if isinstance(passage, int) else None)


def _item_json(item: ReviewItem) -> dict[str, Any]:
    return {**asdict(item), "passages": [source_json(source) for source in item.passages], "legal": list(item.legal)}


def _summary_json(summary: ReviewSummary) -> dict[str, Any]:
    agreement = summary.agreement
    return {
        "labelled": summary.labelled,
        "skipped": summary.skipped,
        "set_id": summary.set_id,
        "agreement": {**asdict(agreement), "share": agreement.agreed.value},
        "disputed": [[asdict(one) for one in verdicts] for verdicts in summary.disputed],
    }


def _agreement_text(summary: ReviewSummary) -> str:
    found = summary.agreement
    if found.agreed.value is None:
        return "agreement: no answer has been reviewed by two people"
    text = f"agreement: {found.agreed.value:.0%} of {found.agreed.total} answers"
    if found.kappa is not None and found.interval is not None:
        text += f", kappa {found.kappa:.2f} ({found.interval[0]:.2f} to {found.interval[1]:.2f})"
    if found.alpha is not None:
        text += f", alpha {found.alpha:.2f} of {found.reviewers} people"
    return f"{text}; in disagreement: {len(summary.disputed)}"
