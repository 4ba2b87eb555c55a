"""The commands that change the documents of a knowledge base."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from chatbot_mvp.app import App
from chatbot_mvp.cli.common import INCOMPLETE, EnvOption, JsonOption, open_app, print_json, stored_kb
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.documents.reading.readers import READERS
from chatbot_mvp.errors import ChatbotError, KbChangeError, RunError, RunStopped
from chatbot_mvp.knowledge_base.changes import Change, Describe, Remove, about_of
from chatbot_mvp.knowledge_base.filing import Outcome
from chatbot_mvp.knowledge_base.gathering import given, given_folder
from chatbot_mvp.knowledge_base.naming import CURRENT, move_named, path_named, version_named
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.knowledge_base.telling import kb_json, outcome_json, text_json
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.terminal import say

documents = typer.Typer()

KbArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name or id of the knowledge base")]
FilesArgument = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Files, folders with all below them, and sources, as NAME:REST"),
]
IntoOption = Annotated[str, typer.Option(metavar="FOLDER", help="Folder of the knowledge base that they go into")]
TitleOption = Annotated[str | None, typer.Option(help="Title of each of them")]
AuthorOption = Annotated[str | None, typer.Option(help="Author of each of them")]
SourceOption = Annotated[str | None, typer.Option(help="Address that they come from")]
DateOption = Annotated[str | None, typer.Option(metavar="DAY", help="Day that they bear, as YYYY-MM-DD")]
TagOption = Annotated[
    list[str] | None, typer.Option(metavar="TAG", help="Tag of each of them, in place of those before; repeatable")
]
NoteOption = Annotated[str, typer.Option(help="What people shall read in the history")]
StageOption = Annotated[bool, typer.Option("--stage", help="Let the new version wait as the draft")]
VectorsOption = Annotated[
    bool, typer.Option("--vectors/--no-vectors", help="Wait until the new version's vectors are there too")
]
VersionOption = Annotated[
    str, typer.Option(metavar="VERSION", help="Number or id of a version, current, or draft; by default current")
]


@documents.command("create")
def kb_create(
    name: Annotated[str, typer.Argument(help="Name of the new knowledge base")],
    files: FilesArgument,
    into: IntoOption = "",
    title: TitleOption = None,
    author: AuthorOption = None,
    source: SourceOption = None,
    date: DateOption = None,
    tag: TagOption = None,
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    about = about_of(title, author, source, date, tag)
    app = open_app(env)
    with ProgressLine() as progress:
        outcome = app.kb_filing.create(name, given(files, app.settings, into, progress), about, progress)
        completed(app, outcome.record, vectors, progress)
    _tell(app, outcome, as_json)


@documents.command("add")
def kb_add(
    name: KbArgument,
    files: FilesArgument,
    into: IntoOption = "",
    title: TitleOption = None,
    author: AuthorOption = None,
    source: SourceOption = None,
    date: DateOption = None,
    tag: TagOption = None,
    note: NoteOption = "",
    stage: StageOption = False,
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    about = about_of(title, author, source, date, tag)
    app = open_app(env)
    kb_id = stored_kb(app, name)
    with ProgressLine() as progress:
        found = given(files, app.settings, into, progress)
        outcome = app.kb_filing.add(kb_id, found, about, note, stage, progress)
        completed(app, outcome.record, vectors, progress)
    _tell(app, outcome, as_json)


@documents.command("sync")
def kb_sync(
    name: KbArgument,
    folder: Annotated[str, typer.Argument(help="Folder whose files the documents shall be")],
    into: Annotated[
        str, typer.Option(metavar="FOLDER", help="Folder of the knowledge base that stands for it; by default, all")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove more than half of the documents if they are gone")] = False,
    note: NoteOption = "",
    stage: StageOption = False,
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    with ProgressLine() as progress:
        found = given_folder(folder, into)
        outcome = app.kb_filing.sync(kb_id, found, into, note, stage, yes, dry_run, progress)
        if outcome.changed:
            completed(app, outcome.record, vectors, progress)
    _tell(app, outcome, as_json, dry_run)


@documents.command("remove")
def kb_remove(
    name: KbArgument,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Documents, or folders with all below them")],
    note: NoteOption = "",
    stage: StageOption = False,
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    there = app.kbs.store.to_change(kb_id, stage)[0].documents
    changes = [Remove(path) for path in dict.fromkeys(path_named(there, path) for path in paths)]
    _change(app, kb_id, changes, note, stage, vectors, as_json)


@documents.command("move")
def kb_move(
    name: KbArgument,
    path: Annotated[str, typer.Argument(help="A document or a folder")],
    to: Annotated[str, typer.Argument(help="Its new path, or the folder that it goes into; / is the top")],
    note: NoteOption = "",
    stage: StageOption = False,
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    change = move_named(app.kbs.store.to_change(kb_id, stage)[0].documents, path, to)
    _change(app, kb_id, [change], note, stage, vectors, as_json)


@documents.command("describe")
def kb_describe(
    name: KbArgument,
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Documents, or folders with all below them")],
    title: TitleOption = None,
    author: AuthorOption = None,
    source: SourceOption = None,
    date: DateOption = None,
    tag: TagOption = None,
    note: NoteOption = "",
    stage: StageOption = False,
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    about = about_of(title, author, source, date, tag)
    if not about:
        raise typer.BadParameter("say what changes", param_hint="--title, --author, --source, --date or --tag")
    app = open_app(env)
    kb_id = stored_kb(app, name)
    there = app.kbs.store.to_change(kb_id, stage)[0].documents
    changes = [Describe(path_named(there, path), about) for path in paths]
    _change(app, kb_id, changes, note, stage, vectors, as_json)


@documents.command("original")
def kb_original(
    name: KbArgument,
    path: Annotated[str, typer.Argument(help="A document")],
    out: Annotated[Path, typer.Option(help="File or folder to write into; an existing file is replaced")],
    version: VersionOption = CURRENT,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    document = app.kb_documents.find(kb_id, path, version_named(app.kbs.store, kb_id, version))
    content = app.kbs.store.original(kb_id, document)
    if content is None:
        raise KbChangeError("kb_original_not_kept", kb_id=kb_id, path=document.path)
    target = out / document.path.rpartition("/")[2] if out.is_dir() else out
    try:
        write_atomically(target, content)
    except OSError as error:
        raise RunError("export_not_written", path=str(target), reason=error.strerror or str(error)) from error
    if as_json:
        print_json({"out": str(target), "path": document.path, "bytes": len(content), "sha256": document.original})
        return
    say(f"{target}: {len(content):,} bytes")


@documents.command("text")
def kb_text(
    name: KbArgument,
    path: Annotated[str, typer.Argument(help="A document")],
    version: VersionOption = CURRENT,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    named = version_named(app.kbs.store, kb_id, version)
    document, text = app.kb_documents.find(kb_id, path, named), app.kb_documents.text(kb_id, path, named)
    if as_json:
        print_json(text_json(document, text))
        return
    say(text)


@documents.command("reread")
def kb_reread(
    name: KbArgument,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Documents, or folders with all below them; none: all")
    ] = None,
    reader: Annotated[str, typer.Option(help="Reader to use where it reads the format, as in liteparse")] = "",
    note: NoteOption = "",
    stage: StageOption = False,
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    if reader and reader not in READERS:
        raise typer.BadParameter(
            f"there is no reader {reader!r}; choose one of {', '.join(READERS)}", param_hint="--reader"
        )
    app = open_app(env)
    kb_id = stored_kb(app, name)
    there = app.kbs.store.to_change(kb_id, stage)[0].documents
    named = [path_named(there, path).rstrip("/") for path in paths or ()]
    with ProgressLine() as progress:
        outcome = app.kb_filing.reread(kb_id, named, reader, note, stage, progress)
        completed(app, outcome.record, vectors, progress)
    _tell(app, outcome, as_json)


def _change(
    app: App, kb_id: str, changes: Sequence[Change], note: str, stage: bool, vectors: bool, as_json: bool
) -> None:
    with ProgressLine() as progress:
        record = app.kb_changes.change(kb_id, changes, note=note, stage=stage, progress=progress)
        completed(app, record, vectors, progress)
    tell_version(app, record, as_json)


def tell_version(app: App, record: KbRecord, as_json: bool) -> None:
    """Print the version that a change has made."""
    found = kb_json(app.kbs.store, record)
    if as_json:
        print_json(found)
        return
    say(f"{record.kb_name} ({record.kb_id}): {_version(record)}, {found['documents']} documents")


def completed(app: App, record: KbRecord, wanted: bool, progress: ProgressLine) -> KbRecord:
    """Wait for the vectors of a version, which answers already, and return its record. If they fail, it stays.

    Args:
        wanted: whether to wait.
    """
    if not wanted:
        return record
    try:
        app.kbs.pipeline(record.kb_id, progress, version=record.version)
    except RunStopped:
        raise
    except ChatbotError as error:
        say(f"The change is made. Its vectors are not there yet: {error}", error=True)
    return record


def _tell(app: App, outcome: Outcome, as_json: bool, dry_run: bool = False) -> None:
    """Print what became of files, and exit with INCOMPLETE if some could not be used."""
    for row in outcome.files:
        if row.what in ("failed", "no_room", "duplicate"):
            reason = row.message or (f"its text is that of {row.same_as}" if row.same_as else "no room (KB_MAX_CHARS)")
            say(f"{row.what}: {row.path}: {reason}", error=True)
    if as_json:
        print_json({**outcome_json(app.kbs.store, outcome), **({"dry_run": True} if dry_run else {})})
    else:
        for row in outcome.files:
            if row.what in ("added", "replaced", "moved", "removed"):
                say(f"{row.what}: {f'{row.before} -> ' if row.before else ''}{row.path}")
        told = ", ".join(f"{number} {what}" for what, number in sorted(outcome.counts.items())) or "nothing"
        record = outcome.record
        end = "nothing was changed" if dry_run else _version(record) if outcome.changed else "already so"
        say(f"{record.kb_name} ({record.kb_id}): {told}; {end}")
    if not outcome.complete:
        raise typer.Exit(INCOMPLETE)


def _version(record: KbRecord) -> str:
    return f"version {record.number}" if record.number else "draft"
