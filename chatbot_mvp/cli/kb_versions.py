"""The commands that show knowledge bases and their versions, and choose which version is the current one."""

from __future__ import annotations

from typing import Annotated

import typer

from chatbot_mvp.app import App
from chatbot_mvp.cli.common import INCOMPLETE, EnvOption, JsonOption, open_app, print_json, stored_kb
from chatbot_mvp.cli.kb_documents import (
    AuthorOption,
    DateOption,
    IntoOption,
    KbArgument,
    NoteOption,
    SourceOption,
    TagOption,
    TitleOption,
    VectorsOption,
    VersionOption,
    completed,
    kb_add,
    tell_version,
)
from chatbot_mvp.cli.progress import ProgressLine
from chatbot_mvp.documents.names import clean_name
from chatbot_mvp.knowledge_base.changing import Step
from chatbot_mvp.knowledge_base.differences import DocumentDifference
from chatbot_mvp.knowledge_base.naming import CURRENT, DRAFT, version_named
from chatbot_mvp.knowledge_base.telling import age_days, differences_json, documents_json, kb_json, step_json
from chatbot_mvp.terminal import say

versions = typer.Typer()


@versions.command("list")
def kb_list(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Name or id of the knowledge base whose documents are listed")
    ] = "",
    version: VersionOption = CURRENT,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    store = app.kbs.store
    if name:
        _list_documents(app, stored_kb(app, name), version, as_json)
        return
    records = app.kbs.records()
    unreadable = store.unreadable()
    for kb_id, error in unreadable.items():
        say(f"left out: {kb_id}: {error}", error=True)
    damaged = [
        {"kb_id": one.kb_id, "files": files, "documents": store.lost(one.kb_id)}
        for one in records
        if (files := store.damaged(one.kb_id))
    ]
    for row in damaged:
        told = f"{len(row['files'])} files cannot be read: {', '.join(row['files'])}"
        lost = f"; left out of answers: {', '.join(row['documents'])}" if row["documents"] else ""
        say(f"damaged: {row['kb_id']}: {told}{lost}", error=True)
    if as_json:
        out = [{"kb_id": kb_id, "reason": str(error)} for kb_id, error in unreadable.items()]
        shown = [kb_json(store, record) for record in records]
        print_json({"knowledge_bases": shown, "left_out": out, "damaged": damaged})
    for record in () if as_json else records:
        count = len(store.documents(record.kb_id))
        draft = ", a draft waits" if store.staged(record.kb_id) else ""
        told = f"version {record.number}, {count} documents, {record.chars:,} characters, {record.added_at[:10]}"
        say(f"{record.kb_name} ({record.kb_id}): {told}{draft}")
    if unreadable or damaged:
        raise typer.Exit(INCOMPLETE)


def _list_documents(app: App, kb_id: str, name: str, as_json: bool) -> None:
    store = app.kbs.store
    version_id = version_named(store, kb_id, name)
    version = store.version(kb_id, version_id)
    if as_json:
        record = store.record(kb_id, version_id)
        print_json({"knowledge_base": kb_json(store, record), "documents": documents_json(version)})
        return
    for document in version.documents:
        parts = [f"{document.original_chars:,} characters", f"{age_days(document)} days old", document.title]
        say(": ".join((document.path, ", ".join(filter(None, (*parts, *(f"#{tag}" for tag in document.tags)))))))


@versions.command("rename")
def kb_rename(
    name: KbArgument,
    to: Annotated[str, typer.Argument(metavar="NEW_NAME", help="Its new name")],
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    if not clean_name(to):
        raise typer.BadParameter("it is blank", param_hint="NEW_NAME")
    app = open_app(env)
    kb_id = stored_kb(app, name)
    tell_version(app, app.kbs.rename(kb_id, to), as_json)


@versions.command("delete")
def kb_delete(
    name: KbArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it; without this, nothing is done")] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    record, count = app.kbs.store.record(kb_id), len(app.kbs.store.documents(kb_id))
    if not yes:
        told = f"this deletes {record.kb_name!r} ({kb_id}) with {count} documents and all versions; confirm it with it"
        raise typer.BadParameter(told, param_hint="--yes")
    app.kbs.delete(kb_id)
    if as_json:
        print_json({"deleted": kb_id, "kb_name": record.kb_name, "documents": count})
        return
    say(f"deleted: {record.kb_name} ({kb_id}), {count} documents")


@versions.command("history")
def kb_history(name: KbArgument, env: EnvOption = None, as_json: JsonOption = False) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    steps, staged = app.kb_changes.history(kb_id), app.kb_changes.staged(kb_id)
    if as_json:
        found = kb_json(app.kbs.store, app.kbs.store.record(kb_id))
        print_json({"knowledge_base": found, "history": [step_json(step) for step in steps]})
        return
    if staged:
        say(f"draft {staged.version_id}  {staged.at[:16]}  waits; made from {staged.base}")
    for step in steps:
        say(_step_line(step))


def _step_line(step: Step) -> str:
    entry = step.entry
    counts = f"+{entry.added} ~{entry.changed} -{entry.removed}"
    marks = " (current)" if step.current else "" if step.kept else " (not kept)"
    line = f"{entry.number} {entry.version_id}  {entry.at[:16]}  {entry.what}  {counts}{marks}"
    return f"{line}  {entry.note}" if entry.note else line


@versions.command("diff")
def kb_diff(
    name: KbArgument,
    before: Annotated[
        str,
        typer.Argument(
            metavar="[A]",
            help="Number or id of a version, current, or draft; by default the one before",
        ),
    ] = "",
    after: Annotated[str, typer.Argument(metavar="[B]", help="As A; by default current")] = CURRENT,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id, store = stored_kb(app, name), app.kbs.store
    steps = app.kb_changes.history(kb_id)
    first = before or str(steps[min(1, len(steps) - 1)].entry.number)
    old, new = version_named(store, kb_id, first), version_named(store, kb_id, after)
    found = app.kb_changes.difference(kb_id, old, new)
    if as_json:
        print_json({"kb_id": kb_id, "before": old, "after": new, "documents": differences_json(found)})
        return
    for document in found:
        _tell_difference(document)
    if not found:
        say("no difference")


def _tell_difference(document: DocumentDifference) -> None:
    say(f"{document.what}: {f'{document.before} -> ' if document.before else ''}{document.path}")
    for paragraph in document.paragraphs:
        for text in paragraph.before:
            say("\n".join(f"  - {line}" for line in text.splitlines()))
        for text in paragraph.after:
            say("\n".join(f"  + {line}" for line in text.splitlines()))


@versions.command("restore")
def kb_restore(
    name: KbArgument,
    version: Annotated[str, typer.Argument(help="Number or id of the version")],
    note: NoteOption = "",
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    with ProgressLine() as progress:
        wanted = version_named(app.kbs.store, kb_id, version)
        record = completed(app, app.kb_changes.restore(kb_id, wanted, note, progress), vectors, progress)
    tell_version(app, record, as_json)


@versions.command("stage")
def kb_stage(
    name: KbArgument,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE...]", help="Files, folders with all below them, and sources, as NAME:REST"),
    ] = None,
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
    if files:
        kb_add(
            name,
            files,
            into=into,
            title=title,
            author=author,
            source=source,
            date=date,
            tag=tag,
            stage=True,
            vectors=vectors,
            env=env,
            as_json=as_json,
        )
        return
    app = open_app(env)
    kb_id, store = stored_kb(app, name), app.kbs.store
    draft = store.record(kb_id, version_named(store, kb_id, DRAFT))
    tell_version(app, draft, as_json)
    changed = [] if as_json else app.kb_changes.difference(kb_id, store.version(kb_id).version_id, draft.version)
    for document in changed:
        _tell_difference(document)


@versions.command("publish")
def kb_publish(
    name: KbArgument,
    note: NoteOption = "",
    vectors: VectorsOption = True,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    with ProgressLine() as progress:
        record = completed(app, app.kb_changes.publish(kb_id, note, progress), vectors, progress)
    tell_version(app, record, as_json)


@versions.command("drop")
def kb_drop(name: KbArgument, env: EnvOption = None, as_json: JsonOption = False) -> None:
    app = open_app(env)
    kb_id = stored_kb(app, name)
    app.kb_changes.drop(kb_id)
    tell_version(app, app.kbs.store.record(kb_id), as_json)
