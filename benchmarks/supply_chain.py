"""Check what the project is made of: licences, known vulnerabilities, and a bill of materials.

python -m benchmarks supply_chain licences [--check]   write docs/operate/licences.md, or fail if it is not up to date
python -m benchmarks supply_chain audit                look up requirements.txt in the database of vulnerabilities
python -m benchmarks supply_chain sbom                 write dist/sbom.json (CycloneDX) from requirements.txt

``audit`` needs ``pip install pip-audit`` and the network, and ``sbom`` needs ``pip install cyclonedx-bom``; ``make
nightly`` installs both. ``audit`` fails if a vulnerability has no exception in ``docs/operate/audit-exceptions.toml``,
if an exception has expired, and if a package could not be looked up, which says nothing about its vulnerabilities.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from benchmarks.script import ROOT, parser

REQUIREMENTS = ROOT / "requirements.txt"
PAGE = ROOT / "docs" / "operate" / "licences.md"
EXCEPTIONS = ROOT / "docs" / "operate" / "audit-exceptions.toml"
SBOM = ROOT / "dist" / "sbom.json"

ALLOWED = frozenset(
    """0BSD Apache-2.0 BSD BSD-2-Clause BSD-3-Clause CC0-1.0 HPND ISC MIT MIT-0 MIT-CMU MPL-2.0 PSF-2.0 Unlicense
    Zlib""".split()
)
"""Licences that a package may have. MPL-2.0 asks to publish changes to its own files, and none is changed here."""

_BETWEEN = r"(\s+(?:AND|OR)\s+)"
"""What stands between two licences of an expression."""
_NAMES = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd license": "BSD",
    # PDFium itself is under these two; the texts of what it contains, such as FreeType and libjpeg, come with it.
    "bsd-3-clause, apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
"""Names that packages give instead of the identifiers of SPDX, in lower case."""


def required(path: Path = REQUIREMENTS) -> list[str]:
    """Return the names of the packages that ``requirements.txt`` pins."""
    return re.findall(r"^([\w.-]+)(?:\[[^\]]*\])?==", path.read_text("utf-8"), re.M)


def licence_of(found: Distribution) -> str:
    """Return a package's licence as an expression of SPDX identifiers; what it says itself if that is none."""
    about = found.metadata
    classifiers = [
        text.rsplit(" :: ", 1)[1]
        for text in about.get_all("Classifier") or []
        # Who approved of a licence is none.
        if text.startswith("License ::") and text != "License :: DFSG approved"
    ]
    texts = [
        *(about.get_all("License-Expression") or []),
        " AND ".join(classifiers),
        *(text.strip() for text in about.get_all("License") or []),
    ]
    said = next((text for text in texts if text), "unknown").splitlines()[0]
    return "".join(_NAMES.get(part.lower(), part) for part in re.split(_BETWEEN, said))


def not_allowed(licence: str) -> list[str]:
    """Return the parts of an expression that are not allowed. Of alternatives, all must be allowed."""
    return [part for part in re.split(_BETWEEN, licence)[::2] if part.strip("()") not in ALLOWED]


def licences() -> Iterator[tuple[str, str]]:
    """Yield (package, licence) of the packages of ``requirements.txt`` that are installed."""
    for name in required():
        try:
            yield name, licence_of(distribution(name))
        except PackageNotFoundError:  # needed on another system only
            continue


def page() -> str:
    """Return the page of licences: each licence with its packages, in alphabetical order."""
    packages: dict[str, list[str]] = {}
    for name, licence in sorted(licences(), key=lambda row: row[0].lower()):
        packages.setdefault(licence, []).append(name)
    return "\n".join(
        (
            "# Licences",
            "",
            "The licence of each package that `requirements.txt` installs, as the package states it. This page is",
            "written by `python -m benchmarks supply_chain licences`. A test fails if that script does not list a",
            "licence as allowed. Optional packages (`pip install chatbot-mvp[…]`) are not listed.",
            "",
            *(f"- **{licence}**: {', '.join(packages[licence])}" for licence in sorted(packages)),
            "",
        )
    )


def write_licences(check: bool) -> int:
    """Write the page, or compare it; return the exit code."""
    wrong = [f"{name}: {licence}" for name, licence in licences() if not_allowed(licence)]
    if wrong:
        print(f"licences that are not allowed: {wrong}", file=sys.stderr)
        return 1
    if not check:
        PAGE.write_text(page(), "utf-8")
    elif PAGE.read_text("utf-8") != page():
        print(f"{PAGE} is not up to date: python -m benchmarks supply_chain licences", file=sys.stderr)
        return 1
    return 0


def exceptions(today: datetime.date, path: Path = EXCEPTIONS) -> tuple[dict[str, str], list[str]]:
    """Return (vulnerability -> reason, faults) of the exceptions in force on a day."""
    known: dict[str, str] = {}
    faults = []
    for row in tomllib.loads(path.read_text("utf-8")).get("exception", []):
        if not row.get("reason"):
            faults.append(f"the exception for {row['id']} has no reason")
        elif row["until"] < today:
            faults.append(
                f"the exception for {row['id']} expired on {row['until']}: update the package, or decide anew"
            )
        else:
            known[row["id"]] = row["reason"]
    return known, faults


def judged(report: Mapping[str, Any], known: Mapping[str, str]) -> list[str]:
    """Return the faults in a report of pip-audit: unknown packages, and vulnerabilities without an exception."""
    faults = []
    found = report["dependencies"]
    if skipped := [row["name"] for row in found if row.get("skip_reason")]:
        faults.append(f"{len(skipped)} of {len(found)} packages could not be looked up: {', '.join(skipped[:5])} …")
    for row in found:
        for vulnerability in row.get("vulns", ()):
            names = {vulnerability["id"], *vulnerability.get("aliases", ())}
            if not names & known.keys():
                fixed = ", ".join(vulnerability.get("fix_versions", ())) or "no version"
                faults.append(f"{row['name']} {row['version']}: {vulnerability['id']}, fixed in {fixed}")
    return faults


def audit() -> int:
    """Audit ``requirements.txt``; return the exit code."""
    known, faults = exceptions(datetime.datetime.now(datetime.UTC).date())
    asked = [sys.executable, "-m", "pip_audit", "-r", str(REQUIREMENTS), "--require-hashes", "--disable-pip"]
    done = _run([*asked, "--format", "json", "--progress-spinner", "off"])
    try:
        faults += judged(json.loads(done.stdout), known)
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["no output"]
        faults.append(f"the audit was not done: {lines[-1]}")
    for fault in faults:
        print(f"audit: {fault}", file=sys.stderr)
    print(f"audit: {'failed' if faults else 'clean'}; {len(known)} exceptions in force")
    return 1 if faults else 0


def sbom() -> int:
    """Write the bill of materials; return the exit code."""
    SBOM.parent.mkdir(exist_ok=True)
    asked = [sys.executable, "-m", "cyclonedx_py", "requirements", str(REQUIREMENTS), "--output-reproducible"]
    done = _run([*asked, "--pyproject", str(ROOT / "pyproject.toml"), "--of", "JSON", "-o", str(SBOM)])
    if done.returncode:
        print(f"sbom: {(done.stderr.strip().splitlines() or ['no output'])[-1]}", file=sys.stderr)
        return 1
    written = json.loads(SBOM.read_text("utf-8"))
    print(f"sbom: {SBOM}, {written['bomFormat']} {written['specVersion']}, {len(written['components'])} components")
    return 0


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("what", choices=["licences", "audit", "sbom"])
    options.add_argument("--check", action="store_true")
    asked = options.parse_args()
    if asked.what == "licences":
        return write_licences(asked.check)
    return audit() if asked.what == "audit" else sbom()
