"""One damaged run hides no other: all pages and the command line show the others, and the fault is named."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from chatbot_mvp.app import App, build_app
from chatbot_mvp.cli.commands import cli as command
from chatbot_mvp.exports.bundle import read_bundle
from chatbot_mvp.settings.model import load_settings
from tests.made_results import LINE
from tests.raising import raises
from tests.ui.test_pages import open_page, texts

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")

FAULTS = {
    "queries": json.dumps({**LINE, "queries": 10**30}),
    "seconds": json.dumps({**LINE, "seconds": {"retrieve": float("inf")}}),
    "metrics": json.dumps({**LINE, "metrics": {"mrr": [0.5]}}),
    "JSON": '{"run_id": "bad", "metrics": ' + "[" * 1000,
    "started_at": json.dumps({**LINE, "started_at": 5}),
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A data folder with two runs, which tests copy."""
    folder = tmp_path_factory.mktemp("measured")
    app = build_app(load_settings(data_dir=folder, retrieval_strategy="LEXICAL", generation_enabled=False))
    first, second = (app.runs.run_now(eval_max_queries=2).run_id for _ in range(2))
    return folder, first, second


@pytest.fixture
def two(measured: tuple[Path, str, str], data_dir: Path) -> tuple[App, str, str]:
    folder, first, second = measured
    shutil.copytree(folder, data_dir, dirs_exist_ok=True)
    return build_app(load_settings()), first, second


@pytest.mark.parametrize(
    "field", [field if field == "queries" else pytest.param(field, marks=pytest.mark.slow) for field in FAULTS]
)
def test_a_damaged_line_is_named_and_the_other_runs_are_listed(two: tuple[App, str, str], field: str) -> None:
    app, first, second = two
    path = app.settings.submissions_path
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([lines[0], FAULTS[field], *lines[1:]]) + "\n", "utf-8")
    page = open_page("evaluation")
    assert "Líneas dañadas" in texts(page)
    assert "Línea 2" in texts(page)
    assert field in texts(page)
    assert len(page.dataframe[0].value) == 2
    for name in ("home", "admin"):
        assert not open_page(name).error
    assert not open_page("evaluation", view="leaderboard").error
    listed = CliRunner().invoke(command, ["benchmark", "list"])
    assert (listed.exit_code, first in listed.stdout, second in listed.stdout) == (0, True, True)
    found = json.loads(CliRunner().invoke(command, ["benchmark", "list", "--json"]).stdout)
    assert (len(found["runs"]), found["damaged_lines"]) == (2, 1)


def with_wrong(name: str, field: str, written: str) -> Callable[[App, str], None]:
    def damage(app: App, run_id: str) -> None:
        path = app.settings.results_dir / run_id / name.format(run_id=run_id)
        values = json.loads(path.read_text("utf-8"))
        values[field] = "@@"
        path.write_text(json.dumps(values).replace('"@@"', written), "utf-8")

    return damage


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "field", "written"),
    [
        ("{run_id}.json", "queries", "1" + "0" * 30),
        pytest.param("{run_id}.json", "seconds", '{"retrieve": Infinity}', marks=pytest.mark.slow),
        pytest.param("{run_id}.json", "per_query", '[{"query_id": ["q"]}]', marks=pytest.mark.slow),
        ("manifest.json", "settings_masked", '{"kb_top_k": "many", "reranker_enabled": [1]}'),
        ("manifest.json", "queries", '"2"'),
        pytest.param("manifest.json", "documents", "-1", marks=pytest.mark.slow),
    ],
)
def test_a_damaged_file_is_named_on_its_page_and_no_other_page_fails(
    two: tuple[App, str, str], name: str, field: str, written: str
) -> None:
    app, first, second = two
    with_wrong(name, field, written)(app, first)
    page = open_page("evaluation", run=first)
    if field != "settings_masked":  # one unusable setting hides nothing
        assert any(field in error.value for error in page.error), [error.value for error in page.error]
    assert not open_page("evaluation", run=second).error
    assert len(open_page("evaluation").dataframe[0].value) == 2
    for other in ("home", "admin"):
        assert not open_page(other).error
    open_page("evaluation", compare=f"{second},{first}")
    open_page("evaluation", view="leaderboard")
    assert CliRunner().invoke(command, ["benchmark", "list"]).exit_code == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1500-01-01", "ayer"])
def test_a_time_that_no_calendar_has_breaks_no_list(two: tuple[App, str, str], when: str) -> None:
    app, first, _ = two
    path = app.settings.submissions_path
    line = json.loads(path.read_text("utf-8").splitlines()[0])
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "run_id": first, "started_at": when}) + "\n")
    for name, address in (("home", {}), ("evaluation", {}), ("evaluation", {"view": "leaderboard"})):
        page = open_page(name, **address)
        assert not page.error


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "field", "written"),
    [
        ("{run_id}.json", "queries", "1" + "0" * 30),
        ("{run_id}.json", "seconds", '{"retrieve": Infinity}'),
        ("{run_id}.json", "metrics", "[]"),
        ("{run_id}.json", "metrics", '{"recall@5": 7.0}'),
        ("{run_id}.json", "metrics", '{"ndcg@10": -0.5}'),
        ("{run_id}.json", "scored", "{}"),
        ("configuration.json", "queries", '"2"'),
        ("configuration.json", "documents", "Infinity"),
        ("configuration.json", "settings_masked", "[" * 900 + "]" * 900),
        ("configuration.json", "dataset", '{"a": 1}'),
    ],
)
def test_a_bundle_with_a_mistyped_field_is_refused_and_the_field_is_named(
    two: tuple[App, str, str], tmp_path: Path, name: str, field: str, written: str
) -> None:
    app, first, _ = two
    [packed] = app.archive.export(first, "zip").files.values()
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        files = {info.filename.partition("/")[2]: archive.read(info) for info in archive.infolist()}
    wrong = name.format(run_id=first)
    values = {**json.loads(files[wrong]), field: "@@"}
    files[wrong] = json.dumps(values).replace('"@@"', written).encode()
    files["SHA256SUMS"] = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {each}\n" for each, content in files.items() if each != "SHA256SUMS"
    ).encode()
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for each, content in files.items():
            archive.writestr(f"{first}/{each}", content)
    with raises(
        "bundle_damaged", match=f"{field}|legal: 0.0 to 1.0|Infinity|NaN|levels|too large|recursion|expected value"
    ):
        read_bundle(tmp_path / "bad.zip")
