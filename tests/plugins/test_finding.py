"""What cannot be loaded is left out with one line, and everything else works: with packages installed in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

Groups = Mapping[str, Mapping[str, str]]

GOOD = """
from chatbot_mvp.exports.base import Exported, ExportFormat
FORMAT = ExportFormat("ids", lambda run: Exported({f"{run.run_id}_ids.txt": b""}), "ids")
LOCAL = ExportFormat("trec", lambda run: Exported({}), "has the name of the program's own")
OTHER = ExportFormat("other", lambda run: Exported({}), "has another name than its entry point")
NUMBER = 7
"""


def install(site: Path, package: str, groups: Groups, version: str = "1", **modules: str) -> Path:
    """Put a package into a folder as pip does: its modules and its metadata."""
    site.mkdir(exist_ok=True)
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text, "utf-8")
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", "utf-8")
    lines: list[str] = []
    for group, rows in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in rows.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")
    return site


def program(tmp_path: Path, *sites: Path, arguments: tuple[str, ...] = ("plugins", "--json")) -> str:
    """Run a command of the program where packages are installed; it must end well."""
    places = os.pathsep.join(map(str, [ROOT, *sites]))
    environment = {**os.environ, "PYTHONPATH": places, "DATA_DIR": str(tmp_path / "data"), "PROVIDER": "demo"}
    done = subprocess.run(
        [sys.executable, "-m", "chatbot_mvp.cli", *arguments], cwd=tmp_path, env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()[-3_000:]
    return done.stdout.decode()


def plugins(tmp_path: Path, *sites: Path) -> dict[str, dict[str, Any]]:
    """Name -> what ``plugins --json`` says of each thing that packages add."""
    rows = json.loads(program(tmp_path, *sites))["plugins"]
    return {row["name"]: row for row in rows if not row["wing"]}


EXPORT = "chatbot_mvp.v1.export"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What is said of a package of which every entry point but one is broken."""
    place = tmp_path_factory.mktemp("broken")
    rows = {
        "ids": "good:FORMAT",
        "missing": "no_such_module:FORMAT",
        "nameless": "good:NO_SUCH_NAME",
        "raising": "raising:FORMAT",
        "ending": "ending:FORMAT",
        "number": "good:NUMBER",
        "trec": "good:LOCAL",
        "renamed": "good:OTHER",
    }
    unknown = {"chatbot_mvp.v1.flavour": {"mint": "good:FORMAT"}, "chatbot_mvp.v2.export": {"new": "good:FORMAT"}}
    groups = {EXPORT: rows, **unknown}
    raising = "raise RuntimeError('the disk is upside down')"
    ending = "import sys\nsys.exit('goodbye')"
    site = install(place / "site", "mixed", groups, good=GOOD, raising=raising, ending=ending)
    return plugins(place, site)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "no_such_module:FORMAT cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("nameless", "good:NO_SUCH_NAME cannot be loaded: AttributeError"),
        ("raising", "raising:FORMAT cannot be loaded: RuntimeError: the disk is upside down"),
        ("ending", "ending:FORMAT cannot be loaded: SystemExit: goodbye"),
        ("number", "good:NUMBER is a int, not a ExportFormat"),
        ("trec", "there is already a export 'trec'"),
        ("renamed", "its name is 'other', which the entry point must have, too"),
        ("mint", "there is no such kind; version 1 has: "),
        ("new", "there is no such kind; version 1 has: "),
    ],
)
def test_what_is_broken_is_left_out_with_its_reason(broken: dict[str, dict[str, Any]], name: str, reason: str) -> None:
    assert broken[name]["problem"].startswith(reason)


def test_what_is_sound_beside_it_is_used(broken: dict[str, dict[str, Any]]) -> None:
    assert broken["ids"]["problem"] is None


@pytest.mark.slow
def test_the_list_says_it_in_one_line_and_the_rest_works(tmp_path: Path) -> None:
    groups = {EXPORT: {"missing": "no_such_module:FORMAT", "ids": "good:FORMAT"}}
    site = install(tmp_path / "site", "mixed", groups, good=GOOD)
    assert "ids" in program(tmp_path, site, arguments=("benchmark", "export", "--help"))
    checks = program(tmp_path, site, arguments=("plugins",)).splitlines()
    assert [line for line in checks if line.startswith("NO ")] == [
        "NO  export missing (mixed 1): left out: no_such_module:FORMAT cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'"
    ]


@pytest.mark.slow
def test_of_two_packages_with_one_name_the_first_on_the_path_counts(tmp_path: Path) -> None:
    """As for imports. A second name for the same thing is not a second thing."""
    first = install(tmp_path / "first", "twin", {EXPORT: {"ids": "good:FORMAT"}}, "1", good=GOOD)
    second = install(tmp_path / "second", "Twin", {EXPORT: {"more": "bad:FORMAT"}}, "2")
    found = plugins(tmp_path, first, second)
    assert {name: row["source"] for name, row in found.items()} == {"ids": "twin 1"}


@pytest.mark.slow
def test_of_two_packages_that_add_one_name_the_first_by_name_counts(tmp_path: Path) -> None:
    one = install(tmp_path / "one", "alpha", {EXPORT: {"ids": "good:FORMAT"}}, good=GOOD)
    two = install(tmp_path / "two", "beta", {EXPORT: {"ids": "good:FORMAT"}})
    rows = json.loads(program(tmp_path, one, two))["plugins"]
    assert {row["source"]: row["problem"] for row in rows if row["name"] == "ids"} == {
        "alpha 1": None,
        "beta 1": "there is already a export 'ids'",
    }


def test_a_package_whose_file_cannot_be_read_is_one_line_and_ends_nothing(tmp_path: Path) -> None:
    site = install(tmp_path / "site", "sound", {EXPORT: {"ids": "good:FORMAT"}}, good=GOOD)
    for name, content in {
        "torn": b"[chatbot_mvp.v1.export]\nids\n",
        "foreign": b"\xff\xfe[console_scripts]\n",
        "early": b"ids = good:FORMAT\n[chatbot_mvp.v1.export]\n",
    }.items():
        install(site, name, {})
        (site / f"{name}-1.dist-info" / "entry_points.txt").write_bytes(content)
    rows = json.loads(program(tmp_path, site))["plugins"]
    told = {row["source"]: row["problem"] for row in rows if not row["wing"] and row["problem"]}
    assert set(told) >= {"torn", "foreign"}
    assert all(reason.startswith("it cannot be read: ") and "\n" not in reason for reason in told.values())
    assert [row["problem"] for row in rows if row["name"] == "ids" and row["source"] == "sound 1"] == [None]


SETTINGS = """
from pydantic_settings import BaseSettings
from chatbot_mvp.plugins.rows import SettingsSection

class Fields(BaseSettings):
    {field}

SECTION = SettingsSection(Fields)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("garden_gate: str = 'open'", None),
        ("retrieval_k: int = 3", "there is already a setting RETRIEVAL_K"),
        ("admin_password: str = ''", "there is already a setting ADMIN_PASSWORD"),
        ("garden_key: str", "the setting GARDEN_KEY has no default, so nothing would start without it"),
    ],
)
def test_a_setting_of_the_program_cannot_be_taken_over(tmp_path: Path, field: str, problem: str | None) -> None:
    group = {"chatbot_mvp.v1.settings": {"garden": "garden:SECTION"}}
    site = install(tmp_path / "site", "garden", group, garden=SETTINGS.format(field=field))
    assert plugins(tmp_path, site)["garden"]["problem"] == problem


ROWS = """
from chatbot_mvp.documents.reading.reader import Reader
from chatbot_mvp.metrics.spec import MetricSpec
from chatbot_mvp.retrieval.strategies import STRATEGIES, Strategy

FASTER_HTML = Reader("faster_html", (".html",), "rows:read")
LOUD = Reader("loud", (".SRT",), "rows:read")
BARE = MetricSpec("bare", "answer")
SILENT = MetricSpec("silent", "judge", instructions={"en": "Judge."})
COSTLY = MetricSpec("costly", "judge", judged_by_default=True, instructions={"en": "Judge.", "es": "Juzgue."})
AGAIN = Strategy("AGAIN", "the stages of LEXICAL", STRATEGIES["LEXICAL"].stages)
EMPTY = Strategy("EMPTY", "nothing", ())
"""


@pytest.mark.slow
def test_rows_that_could_not_work_are_left_out(tmp_path: Path) -> None:
    """AGAIN reads the registry while it is loaded into it, and has the program's own rows there."""
    groups = {
        "chatbot_mvp.v1.reader": {"faster_html": "rows:FASTER_HTML", "loud": "rows:LOUD"},
        "chatbot_mvp.v1.metric": {"bare": "rows:BARE", "silent": "rows:SILENT", "costly": "rows:COSTLY"},
        "chatbot_mvp.v1.strategy": {"AGAIN": "rows:AGAIN", "EMPTY": "rows:EMPTY"},
    }
    site = install(tmp_path / "site", "rows", groups, rows=ROWS)
    assert {name: row["problem"] for name, row in plugins(tmp_path, site).items()} == {
        "AGAIN": None,
        "EMPTY": "it has no stages",
        "faster_html": "'.html' has a reader already",
        "loud": "'.SRT' is no suffix in small letters, such as '.html'",
        "bare": "a metric that takes 'answer' needs a function",
        "silent": "a metric of a judge needs instructions in es",
        "costly": "an added metric costs requests only where JUDGE_METRICS names it; leave out judged_by_default",
    }
