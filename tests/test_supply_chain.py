"""What the project is made of: allowed licences, pinned packages, dated exceptions."""

from __future__ import annotations

import datetime
import re
from importlib.metadata import metadata
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from benchmarks import supply_chain
from benchmarks.supply_chain import PAGE, REQUIREMENTS, exceptions, judged, licences, not_allowed, page, required

TODAY = datetime.date(2026, 6, 1)


def test_every_installed_package_has_an_allowed_licence() -> None:
    found = list(licences())
    assert len(found) > 100
    assert {name: licence for name, licence in found if not_allowed(licence)} == {}


def test_every_pinned_package_accepts_the_oldest_python_of_the_project() -> None:
    """Debian 12 has Python 3.11.2: a release that needs a later one cannot be installed there."""
    found = {
        name: wanted
        for name in required()
        if (wanted := metadata(name).get("Requires-Python")) and not SpecifierSet(wanted).contains("3.11.2")
    }
    assert found == {}


def test_the_page_of_licences_lists_them_all() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m benchmarks supply_chain licences"


@pytest.mark.parametrize(
    ("licence", "parts"),
    [
        ("MIT", []),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", []),
        ("GPL-3.0-only", ["GPL-3.0-only"]),
        ("MIT AND AGPL-3.0-or-later", ["AGPL-3.0-or-later"]),
        ("unknown", ["unknown"]),
    ],
)
def test_a_licence_that_is_not_on_the_list_is_found(licence: str, parts: list[str]) -> None:
    assert not_allowed(licence) == parts


def test_every_package_is_pinned_with_hashes() -> None:
    entries = re.split(r"\n(?=\S)", REQUIREMENTS.read_text("utf-8").strip())
    pinned = [entry for entry in entries if not entry.startswith("#")]
    assert len(pinned) == len(required()) > 100
    assert [entry[:40] for entry in pinned if "==" not in entry or "--hash=sha256:" not in entry] == []


def test_an_exception_holds_until_its_day_and_needs_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "exceptions.toml"
    row = '[[exception]]\nid = "{}"\npackage = "x"\nuntil = {}\nreason = "{}"\n'
    path.write_text(
        row.format("A", "2026-06-01", "r") + row.format("B", "2026-05-31", "r") + row.format("C", "2027-01-01", "")
    )
    known, faults = exceptions(TODAY, path)
    assert known == {"A": "r"}
    assert [fault.split(" ")[3] for fault in faults] == ["B", "C"]


def test_the_exceptions_of_the_project_have_their_form() -> None:
    known, faults = exceptions(datetime.date.min.replace(year=2000))
    assert faults == []
    assert all(known.values())


def test_an_audit_without_an_answer_or_with_a_vulnerability_fails() -> None:
    vulnerable = {
        "name": "x",
        "version": "1",
        "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2"]}],
    }
    report = {"dependencies": [vulnerable, {"name": "y", "version": "1", "vulns": []}]}
    assert judged(report, {}) == ["x 1: PYSEC-1, fixed in 2"]
    assert judged(report, {"CVE-1": "not called"}) == []
    silent = {"dependencies": [{"name": "y", "skip_reason": "not found"}]}
    assert judged(silent, {}) == ["1 of 1 packages could not be looked up: y …"]


def test_nightly_runs_every_check() -> None:
    recipe = (supply_chain.ROOT / "Makefile").read_text("utf-8").partition("\nnightly:")[2].partition("\nclean:")[0]
    for step in ("pytest", "licences --check", "sbom", "audit", "benchmarks fuzz all"):
        assert step in recipe
    attack = (supply_chain.ROOT / "Makefile").read_text("utf-8").partition("\nattack:")[2].partition("\n\n")[0]
    for step in ("tests/hostile", "benchmarks fuzz all", "$(ATTACKED_TOO)"):
        assert step in attack
    lint = (supply_chain.ROOT / "Makefile").read_text("utf-8").partition("\nlint:")[2].partition("\n# ")[0]
    for step in ("types style", "$(BIN)/mypy", "$(BIN)/bandit"):
        assert step in lint
