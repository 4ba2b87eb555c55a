"""The commands ``backup`` and ``restore``."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from chatbot_mvp import __version__, logs
from chatbot_mvp.cli.common import EnvOption, JsonOption, print_json
from chatbot_mvp.errors import DataFolderUnusable
from chatbot_mvp.settings.early import SECRETS_FILE
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.storage.data_folder import use_folder
from chatbot_mvp.storage.files import naming, replaced_file
from chatbot_mvp.wings.backup.errors import BackupUnusable
from chatbot_mvp.wings.backup.reading import Backup, Entry, open_backup
from chatbot_mvp.wings.backup.restoring import restore
from chatbot_mvp.wings.backup.writing import Written, save_backup, write_backup

backups = typer.Typer()

_STDOUT = _STDIN = Path("-")


@backups.command("backup")
def make_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive to write; - for stdout")],
    with_caches: Annotated[
        bool, typer.Option("--with-caches", help="Include indexes, vectors and replies of language models")
    ] = False,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Include .env and .streamlit/secrets.toml, with all keys")
    ] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    if as_json and file == _STDOUT:
        raise typer.BadParameter("stdout is the archive, so --json cannot print there", param_hint="--json")
    folder = load_settings(env).data_folder
    if not folder.root.is_dir():
        raise DataFolderUnusable(path=str(folder.root), reason="there is no such folder")
    if file != _STDOUT and file.absolute().resolve().is_relative_to(folder.root.resolve()):
        raise typer.BadParameter(f"the archive cannot be in DATA_DIR itself, {folder.root}", param_hint="FILE")
    held = use_folder(folder)
    try:
        secrets = _secret_files(env) if with_secrets else {}
        if file == _STDOUT:
            _make_private(sys.stdout.buffer)
            written = write_backup(sys.stdout.buffer, folder, __version__, with_caches, secrets)
        else:
            written = save_backup(file, folder, __version__, with_caches, secrets)
    finally:
        if held is not None:
            os.close(held)
    _report(file, written, as_json)


def _make_private(out: BinaryIO) -> None:
    """Take the rights of others to a file that stdout leads to: the shell has made it as its umask says."""
    with suppress(OSError):
        if stat.S_ISREG(os.fstat(out.fileno()).st_mode):
            os.chmod(out.fileno(), 0o600)  # noqa: PTH101 -- a path has no descriptor


@contextmanager
def _at_hand(file: Path) -> Iterator[Path]:
    """Give the archive's path; what comes on stdin is kept in the temporary folder meanwhile, for its owner alone."""
    if file != _STDIN:
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="restore-", suffix=".zip") as kept:
        with naming(Path(kept.name)):
            shutil.copyfileobj(sys.stdin.buffer, kept)
            kept.flush()
        yield Path(kept.name)


def _report(file: Path, written: Written, as_json: bool) -> None:
    if as_json:
        counted = {"file": str(file), "files": len(written.files), "bytes": written.size, "sha256": written.sha256}
        print_json({**counted, "left_out": written.left_out})
        return
    for name, why in written.left_out.items():
        logs.say(f"left out: {name}, {why}")
    logs.say(f"{len(written.files)} files, {written.size:,} bytes: {file}")
    logs.say(f"SHA-256 of the archive, to be kept in another place: {written.sha256}")


@backups.command("restore")
def restore_backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive of the command backup; - for stdin")],
    replace: Annotated[bool, typer.Option("--replace", help="Delete the data that are there")] = False,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Also write .env and .streamlit/secrets.toml to this folder")
    ] = False,
    sha256: Annotated[
        str, typer.Option(metavar="HEX", help="SHA-256 that `backup` printed; another archive is refused")
    ] = "",
    check: Annotated[bool, typer.Option("--check", help="Check the archive and change nothing")] = False,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    folder = load_settings(env).data_folder
    if sha256 and not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise typer.BadParameter(
            f"64 hexadecimal digits are needed, and {sha256!r} is something else", param_hint="--sha256"
        )
    with _at_hand(file) as path, open_backup(path, sha256) as backup:
        if check:
            for entry in (*backup.data, *backup.secrets):
                backup.copy(entry)
        else:
            places = _secret_files(env) if with_secrets else {}
            _require_free(backup, places, replace)
            restore(backup, folder, replace, keep=_name_in(folder.root, file))
            for entry in backup.secrets:
                if entry.name in places:
                    _write_secret(backup, entry, places[entry.name])
        counted = {"files": len(backup.data), "bytes": backup.size, "made_at": backup.made_at}
        if as_json:
            print_json({"file": str(file), "data_dir": str(folder.root), "restored": not check, **counted})
            return
        done = "is whole" if check else f"restored in {folder.root}"
        logs.say(f"{file}: {counted['files']} files, {backup.size:,} bytes, made at {backup.made_at}: {done}")
        if backup.secrets and not (check or with_secrets):
            logs.say("The archive also has files with keys; --with-secrets restores them.")


def _secret_files(env: Path | None) -> Mapping[str, Path]:
    """The files with keys: name in an archive -> place."""
    return {".env": env or Path(".env"), SECRETS_FILE.name: SECRETS_FILE}


def _require_free(backup: Backup, places: Mapping[str, Path], replace: bool) -> None:
    """
    Raises:
        BackupUnusable: the archive has no files with keys, though they were asked for, or one of them is damaged.
    """
    if places and not backup.secrets:
        raise BackupUnusable(path=str(backup.path), reason="it was made without --with-secrets")
    for entry in backup.secrets:
        backup.copy(entry)
        if entry.name in places and places[entry.name].exists() and not replace:
            raise typer.BadParameter(f"{places[entry.name]} exists; --replace replaces it", param_hint="--with-secrets")


def _write_secret(backup: Backup, entry: Entry, place: Path) -> None:
    with naming(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(place) as out:
            backup.copy(entry, out)


def _name_in(root: Path, file: Path) -> str:
    """The name in ``root`` under which an archive lies there; "" if it lies elsewhere."""
    place, folder = file.absolute().resolve(), root.absolute().resolve()
    return place.relative_to(folder).parts[0] if place.is_relative_to(folder) else ""
