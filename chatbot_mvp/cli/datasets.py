"""``chatbot-mvp datasets``: fetch data sets from the public hub, list them, push them to S3."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.api import Found
from chatbot_mvp.cli.common import EnvOption, JsonOption, VerboseOption, open_app, print_json
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.datasets.fetching import DATASET_SOURCES
from chatbot_mvp.evaluation.run_sources import kb_reference
from chatbot_mvp.terminal import say

datasets = typer.Typer()
_SPLITS = "; ".join(f"{name}: {' or '.join(source.splits)}" for name, source in DATASET_SOURCES.items())


@datasets.command("fetch")
def datasets_fetch(
    name: Annotated[str, typer.Argument(help=f"Name of the data set: {' or '.join(DATASET_SOURCES)}")],
    split: Annotated[str, typer.Option(help=_SPLITS)] = "",
    base_url: Annotated[str, typer.Option(help="Address of the files or a copy; by default the public one")] = "",
    force: Annotated[bool, typer.Option("--force", help="Download even if the data set already exists")] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    if name not in DATASET_SOURCES:
        choose = " or ".join(DATASET_SOURCES)
        raise typer.BadParameter(f"{name!r} cannot be downloaded; choose {choose}", param_hint="name")
    source = DATASET_SOURCES[name]
    split = split or source.splits[0]
    if split not in source.splits:
        raise typer.BadParameter(f"{split!r} is no split; choose {' or '.join(source.splits)}", param_hint="--split")
    app = open_app(env, verbose)
    folder = app.settings.datasets_dir / source.folder_name(split)
    if folder.exists() and not force:
        logs.say(f"{folder} already exists; use --force to download it again")
        if as_json:
            print_json({"name": folder.name, "folder": str(folder), "fetched": False})
        return
    with ProgressLine() as progress:
        fetched = app.datasets.fetch(name, split, base_url, progress)
    if as_json:
        told = {"name": fetched.name, "folder": str(fetched.folder), "fetched": True}
        print_json({**told, **asdict(fetched.counts), **fetched.notes.values})
        return
    counts = fetched.counts
    say(f"{fetched.folder}")
    for line in fetched.notes.lines or (
        f"{counts.queries:,} queries, {counts.documents:,} documents, {counts.qrels:,} qrels",
    ):
        say(line)


@datasets.command("list")
def datasets_list(env: EnvOption = None, as_json: JsonOption = False) -> None:
    app = open_app(env)
    entries, problem = app.datasets.entries()
    of_kbs = app.kb_evaluation.references()
    if problem is not None:
        prefix = "" if logs.is_jsonl() else "chatbot-mvp: "
        logs.say(f"{prefix}{problem}", logging.WARNING, code=problem.code)
    if as_json:
        rows = [_row(found) for found in entries]
        told = {"datasets": rows, "storage_error": str(problem) if problem else None}
        print_json({**told, "knowledge_bases": of_kbs})
        return
    for found in entries:
        counts = found.counts
        shown = ["?" if n is None else f"{n:,}" for n in (counts.queries, counts.documents, counts.qrels)]
        where = found.reference if found.place == "remote" else str(found.folder)
        state = (
            "" if found.place != "remote" else "  cached" if found.folder else f"  {found.download_bytes / 1e6:.1f} MB"
        )
        say(f"{found.name:<20} {found.place:<8} {shown[0]:>7} queries {shown[1]:>9} documents  {where}{state}")
    for reference, name in of_kbs.items():
        say(f"{reference}  {name}")


def _row(found: Found) -> dict[str, Any]:
    return {
        "name": found.name,
        "place": found.place,
        "reference": found.reference,
        "folder": str(found.folder) if found.folder else None,
        "queries": found.counts.queries,
        "documents": found.counts.documents,
        "qrels": found.counts.qrels,
        "download_bytes": found.download_bytes,
    }


@datasets.command("push")
def datasets_push(
    name: Annotated[str, typer.Argument(help="A data set on this machine: its name or its folder")],
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    address, sent, kept = open_app(env, verbose).datasets.push(name)
    if as_json:
        print_json({"url": address, "sent": sent, "unchanged": kept})
        return
    say(address)
    for file in sent:
        say(f"  sent       {file}")
    for file in kept:
        say(f"  unchanged  {file}")


@datasets.command("to-kb")
def datasets_to_kb(
    name: Annotated[str, typer.Argument(help="A data set: its name, its folder, or s3://bucket/…/name")],
    env: EnvOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    app = open_app(env, verbose)
    with ProgressLine() as progress:
        record, questions = app.kb_evaluation.keep_dataset(name, progress)
    scored = sum(question.paragraph is not None for question in questions.kept)
    if as_json:
        told = {"kb_id": record.kb_id, "set_id": questions.set_id, "documents": len(record.files)}
        told |= {"questions": len(questions.kept), "with_paragraph": scored, "kb_truncated": record.kb_truncated}
        print_json({**told, "reference": kb_reference(record.kb_id, questions.set_id)})
        return
    say(f"{record.kb_id}: {len(record.files):,} documents, {len(questions.kept):,} questions")
    say(f"chatbot-mvp benchmark run --dataset {kb_reference(record.kb_id, questions.set_id)} --no-generation")
    if record.kb_truncated:
        logs.say("documents beyond KB_MAX_CHARS were cut off", logging.WARNING)
