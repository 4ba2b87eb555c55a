"""Read a zip that ``bundle`` wrote. It is untrusted: entries and size are checked before anything is unpacked."""

from __future__ import annotations

import csv
import hashlib
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import to_json

from chatbot_mvp.errors import ImportRefused, RunUnreadable
from chatbot_mvp.runs.manifest import BUNDLE, RunManifest, parse_manifest
from chatbot_mvp.runs.result import RunResult, parse_result
from chatbot_mvp.storage.csv_text import safe_csv
from chatbot_mvp.storage.json_object import parse_json

_MOST_FILES = 100
_MOST_BYTES = 512 * 2**20  # unpacked size; a run of 7,405 queries takes about 50 MB
_ENTRY = re.compile(r"(?P<run>[\w-][\w.-]*)/(?P<name>[\w-][\w.-]*)", re.ASCII)
_SUMS, _CONFIGURATION = "SHA256SUMS", "configuration.json"


@dataclass(frozen=True)
class Bundle:
    """A run from another machine."""

    manifest: RunManifest
    """Its data set has the name from that machine, which may be unknown on this one."""
    result: RunResult
    files: Mapping[str, bytes]
    """Name -> content of the CSV tables for download."""


def read_bundle(path: Path) -> Bundle:
    """Read and check a bundle.

    Raises:
        ImportRefused: it has paths outside the run's folder, links, more than 100 files, or more than 512 MiB.
        ImportRefused (bundle_damaged): a file does not match its hash, or a required file is missing or invalid.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            run_id, infos = _entries(path, archive)
            files = {name: archive.read(info) for name, info in infos.items()}
    # zipfile raises NotImplementedError for an unknown compression and RuntimeError for a password.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ImportRefused("bundle_damaged", path=str(path), reason=str(error) or type(error).__name__) from error
    _check_hashes(path, files)
    result = _result(path, files, run_id)
    manifest = _manifest(path, files, run_id)
    wanted = (f"{run_id}_summary.csv", f"{run_id}_detail.csv")
    return Bundle(manifest, result, {name: _table(path, name, files[name]) for name in wanted if name in files})


def _table(path: Path, name: str, content: bytes) -> bytes:
    try:
        return safe_csv(content.decode("utf-8")).encode()
    except (csv.Error, UnicodeDecodeError) as error:
        raise ImportRefused("bundle_damaged", path=str(path), reason=f"{name!r} is not CSV: {error}") from error


def _entries(path: Path, archive: zipfile.ZipFile) -> tuple[str, dict[str, zipfile.ZipInfo]]:
    """Check the entries; return (run id, name -> entry)."""
    found: dict[str, zipfile.ZipInfo] = {}
    runs = set()
    infos = archive.infolist()
    if len(infos) > _MOST_FILES:
        raise ImportRefused(
            "bundle_unsafe", path=str(path), entry=infos[_MOST_FILES].filename, reason=f"is one of {len(infos)} files"
        )
    for info in infos:
        match = _ENTRY.fullmatch(info.filename)
        if match is None or stat.S_ISLNK(info.external_attr >> 16):
            raise ImportRefused(
                "bundle_unsafe", path=str(path), entry=info.filename, reason="is no file of a run's own folder"
            )
        runs.add(match["run"])
        if len(runs) > 1 or match["name"] in found:
            raise ImportRefused(
                "bundle_unsafe", path=str(path), entry=info.filename, reason="is of another run, or there twice"
            )
        found[match["name"]] = info
    # Checking the declared sizes is enough, because zipfile never unpacks more than declared.
    if (size := sum(info.file_size for info in infos)) > _MOST_BYTES:
        largest = max(infos, key=lambda info: info.file_size)
        reason = f"makes it {size / 1e6:,.0f} MB; at most {_MOST_BYTES / 1e6:,.0f} are taken"
        raise ImportRefused("bundle_unsafe", path=str(path), entry=largest.filename, reason=reason)
    if not runs:
        raise ImportRefused("bundle_damaged", path=str(path), reason="it is empty")
    return runs.pop(), found


def _check_hashes(path: Path, files: Mapping[str, bytes]) -> None:
    lines = files.get(_SUMS, b"").decode("utf-8", "replace").splitlines()
    stated = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in sorted({*stated, *files} - {_SUMS}):
        if name not in files:
            raise ImportRefused("bundle_damaged", path=str(path), reason=f"{name!r} is missing")
        if stated.get(name) != hashlib.sha256(files[name]).hexdigest():
            raise ImportRefused("bundle_damaged", path=str(path), reason=f"{name!r} is not what {_SUMS} says")


def _result(path: Path, files: Mapping[str, bytes], run_id: str) -> RunResult:
    name = f"{run_id}.json"
    if name not in files:
        raise ImportRefused("bundle_damaged", path=str(path), reason=f"{name!r} is missing")
    try:
        result = parse_result(files[name], run_id)
    except RunUnreadable as error:
        raise ImportRefused("bundle_damaged", path=str(path), reason=str(error.params["reason"])) from error
    if result.run_id != run_id:
        raise ImportRefused("bundle_damaged", path=str(path), reason=f"{name!r} is the result of {result.run_id!r}")
    if unknown := sorted(set(result.metrics) - set(result.scored)):
        raise ImportRefused(
            "bundle_damaged", path=str(path), reason=f"{name!r}: scored has no numbers of queries for {unknown[0]!r}"
        )
    return result


def _manifest(path: Path, files: Mapping[str, bytes], run_id: str) -> RunManifest:
    try:
        values = parse_json(files[_CONFIGURATION])
        named = {"dataset_ref": values["dataset"], "imported": values.get("imported") or BUNDLE}
        manifest = parse_manifest(to_json({**values, **named}))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ImportRefused("bundle_damaged", path=str(path), reason=f"{_CONFIGURATION!r}: {error}") from error
    if manifest.run_id != run_id:
        raise ImportRefused("bundle_damaged", path=str(path), reason=f"{_CONFIGURATION!r} is of {manifest.run_id!r}")
    return manifest
