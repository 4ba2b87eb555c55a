"""The commands ``kb ask``, ``kb evaluate``, ``kb questions`` and ``kb purge``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp.api import DocumentFilter
from chatbot_mvp.chat.context import Mode, UserContext
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.chat.transcripts import answer_text
from chatbot_mvp.cli.common import (
    EnvOption,
    JsonOption,
    PresetOption,
    kb_of,
    open_app,
    preset_changes,
    print_json,
    stored_kb,
)
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.documents.origins import source_of
from chatbot_mvp.errors import CacheUnusable, KbNotFound, RunError
from chatbot_mvp.settings.model import MODEL_SETTINGS
from chatbot_mvp.terminal import say

kb = typer.Typer()

_FolderOption = Annotated[
    list[str] | None, typer.Option("--folder", help="Only documents in this folder or below it; may be repeated")
]
_TagOption = Annotated[list[str] | None, typer.Option("--tag", help="Only documents with this tag; may be repeated")]
_DocumentOption = Annotated[
    list[str] | None, typer.Option("--document", help="Only the document with this path; may be repeated")
]
_AndOption = Annotated[
    list[str] | None,
    typer.Option("--and", help="Ask this knowledge base too: its name or id, or a file; may be repeated"),
]
_SinceOption = Annotated[str, typer.Option(help="Only documents from this day on, as 2026-01-31")]
_UntilOption = Annotated[str, typer.Option(help="Only documents up to this day, inclusive")]
_DatedOption = Annotated[
    str, typer.Option(help="The date that --since and --until mean: updated, or created if the document bears one")
]


@kb.command("ask")
def kb_ask(
    document: Annotated[
        str,
        typer.Argument(
            help="Name or id of a knowledge base, a file (.txt, .md, .pdf, .docx or .html), or the documents of a "
            "source, as NAME:REST"
        ),
    ],
    question: str,
    mode: Annotated[str, typer.Option(help="strict or general")] = "strict",
    also: _AndOption = None,
    folder: _FolderOption = None,
    tag: _TagOption = None,
    only: _DocumentOption = None,
    since: _SinceOption = "",
    until: _UntilOption = "",
    dated: _DatedOption = "updated",
    preset: PresetOption = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    documents = _filter_of(folder, tag, only, since, until, dated)
    if mode not in ("strict", "general"):
        raise typer.BadParameter(f"{mode!r} is not a mode; choose strict or general", param_hint="--mode")
    changes = preset_changes(preset, env)
    search = tuple(changes.items())
    app = open_app(env, **{name: value for name, value in changes.items() if name in MODEL_SETTINGS.values()})
    try:
        stored = "" if source_of(document) else stored_kb(app, document)
    except KbNotFound as error:
        raise typer.BadParameter(
            f"there is neither a file nor a knowledge base {document!r}", param_hint="document"
        ) from error
    with ProgressLine() as progress:
        record = app.kbs.store.record(stored) if stored else app.kbs.add_from(document, progress)
        asked = [record.kb_id, *(kb_of(app, other) for other in also or ())]
        growing = app.kbs.over(asked, progress, search)
        try:
            pipeline = growing.complete(progress)
        except CacheUnusable as error:  # a data folder that is full or can only be read: words need nothing there
            say(f"The question is asked by words alone. {error}", error=True)
            pipeline = growing.best()
    left_out = app.kbs.left_out(asked)
    for kb_id, lost in left_out.items():
        say(f"{kb_id}: documents that cannot be read are left out: {', '.join(lost)}", error=True)
    language = pipeline.index.analyzer.language_of(question)
    chosen: Mode = "strict" if mode == "strict" else "general"
    context = UserContext(chosen, language, documents=documents, retrieval=search)
    answer = app.answering.ask_over(asked, question, context)
    answered = record_of(answer)
    if as_json:
        reply = answered.as_reply()
        print_json(
            {
                "answer": answer.text,
                **({"preset": preset} if preset else {}),
                **({"filter": documents.as_json()} if documents else {}),
                **reply,
                "sources": [{"n": source["number"], **source} for source in reply["sources"]],
                "model": answer.completion.model if answer.completion else None,
                "kb_truncated": record.kb_truncated,
                **({"left_out": left_out} if left_out else {}),
            }
        )
        return
    say(answer_text(answered, language))


@kb.command("evaluate")
def kb_evaluate(
    document: Annotated[str, typer.Argument(help="Name or id of a knowledge base, or a file to create one from")],
    questions: Annotated[
        Path, typer.Argument(help="JSONL with id, question, kind, answers, heading, paragraph, history")
    ],
    preset: PresetOption = None,
    strategy: Annotated[str | None, typer.Option(help="Retrieval strategy")] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    overrides: dict[str, Any] = {"retrieval_strategy": strategy} if strategy else {}
    app = open_app(env, **overrides)
    kb_id = kb_of(app, document)
    with ProgressLine() as progress:
        result = app.kb_evaluation.evaluate(kb_id, questions, progress, preset=preset or "", **overrides)
    if as_json:
        print_json(result)
        return
    for name, value in result.items():
        if name != "answers":  # one for each question
            say(f"{name}: {_figure(value)}")


def _figure(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_figure(one)}" for name, one in value.items())
    return "not scored" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


@kb.command("questions")
def kb_questions(
    document: Annotated[str, typer.Argument(help="Name or id of a knowledge base, or a file to create one from")],
    out: Annotated[Path, typer.Option(help="JSONL file to write, for `kb evaluate`; an existing file is replaced")],
    count: Annotated[
        int, typer.Option(min=4, max=1_000, help="Number of questions: half answerable, a quarter near, a quarter far")
    ] = 40,
    use_model: Annotated[
        bool, typer.Option("--model/--no-model", help="Let the provider's model write them, if it has one")
    ] = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = kb_of(app, document)
    with ProgressLine() as progress:
        made = app.kb_evaluation.propose_now(kb_id, count, use_model, progress)
    try:
        out.write_text(app.question_sets.export(made), "utf-8")
    except OSError as error:
        raise RunError("export_not_written", path=str(out), reason=error.strerror or str(error)) from error
    counts = {kind: number for kind, number in made.counts().items() if number}
    by = app.kb_evaluation.proposer() if use_model else ""
    if as_json:
        print_json({"out": str(out), "questions": counts, "dropped": dict(made.dropped), "by": by or "rules"})
        return
    say(f"{out}: {', '.join(f'{number} {kind}' for kind, number in counts.items())} (by {by or 'rules'})")
    if made.dropped:
        say(f"left out: {', '.join(f'{number} {reason}' for reason, number in made.dropped.items())}")


def _filter_of(
    folders: Sequence[str] | None,
    tags: Sequence[str] | None,
    documents: Sequence[str] | None,
    since: str,
    until: str,
    dated: str,
) -> DocumentFilter:
    """Return the filter of these options.

    Raises:
        FilterError (filter_illegal)
    """
    return DocumentFilter.from_json(
        {
            "folders": folders or [],
            "tags": tags or [],
            "documents": documents or [],
            "since": since,
            "until": until,
            "dated": dated,
        }
    )


@kb.command("purge")
def _kb_purge(
    name: Annotated[str, typer.Argument(help="Name or id of a knowledge base")],
    paths: Annotated[list[str], typer.Argument(help="Paths of documents, or of folders, which end with /")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and change nothing")] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    plan = app.kb_changes.purge_plan(kb_id, paths)
    if dry_run and as_json:
        print_json({"kb_id": kb_id, "paths": plan.paths, "equal": plan.equal, "dry_run": True})
        return
    if dry_run or not yes:
        say(f"This removes {', '.join(plan.paths)} from {kb_id} and from everything that quotes it.", error=not dry_run)
        _tell_equal(plan.equal, error=not dry_run)
    if dry_run:
        return
    if not yes:
        typer.confirm("Remove it?", abort=True, err=True)
    with ProgressLine() as progress:
        report = app.kb_changes.purge(kb_id, paths, progress=progress)
    if as_json:
        print_json(asdict(report))
        return
    say(f"Removed {', '.join(report.paths)} from {report.versions} versions.")
    _tell_equal(report.equal)
    if report.damaged:
        say(f"Damaged, so not read: {', '.join(report.damaged)}.", error=True)
    say(f"Files rewritten: {report.files}. Cached rows deleted: {report.cached}.")
    say("Not covered: backups, other servers and buckets, exported files, the name of the knowledge base.")


def _tell_equal(paths: tuple[str, ...], error: bool = False) -> None:
    if paths:
        say(f"A text of it stays, wherever it is quoted, because these have it too: {', '.join(paths)}.", error=error)
