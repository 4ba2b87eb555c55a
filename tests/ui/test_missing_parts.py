"""Every optional part that is missing × every page: the page is drawn, and what is missing is one line of status."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlit_app.shared.state import get_app
from tests.missing_parts import ANSWER, PARTS, QUESTION, REFUSED, SAMPLE, STORAGE, Part, refused_by
from tests.s3_server import S3Server
from tests.ui.test_home_page import settle_health
from tests.ui.test_pages import PAGES, open_page, texts
from tests.waiting import wait_for_jobs

FAST = {*(("boto3 absent", page) for page in PAGES), ("S3 out of reach", "home"), ("S3 out of reach", "admin")} | {
    (part, "home") for part in ("shared root without boto3", "groq absent")
}
"""What ``make test`` tries; the rest of the matrix is slow."""


@pytest.fixture
def folder(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; the App is made when the part is already missing."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("part", "page"),
    [
        pytest.param(part, page, marks=() if (part, page) in FAST else pytest.mark.slow)
        for part in PARTS
        for page in PAGES
    ],
)
def test_a_page_is_drawn_without_a_part_and_says_in_one_line_what_is_missing(
    part: str, page: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That nothing unexpected was logged, which would be a page error, is checked for every test of pages."""
    PARTS[part].take_away(monkeypatch, folder)
    look_at(page, PARTS[part])


@pytest.mark.sampled(2)
@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize(
    ("wrong", "page"),
    [
        pytest.param(wrong, page, marks=() if page in ("home", "admin") else pytest.mark.slow)
        for wrong in REFUSED
        for page in PAGES
    ],
)
def test_a_page_is_drawn_where_s3_refuses_and_says_so_in_one_line(
    wrong: str, page: str, s3: S3Server, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = refused_by(s3, wrong)
    part.take_away(monkeypatch, folder)
    look_at(page, part)


def look_at(page: str, row: Part) -> None:
    """Open a page, on Chat ask a question, and check that what the part takes away is told once."""
    app = get_app()
    app.kbs.add(SAMPLE.name, SAMPLE.read_bytes())
    shown = open_page(page)
    if page == "home":
        settle_health()
        shown = open_page(page)
        failed = {health.name for health in app.health.states() if health.state == "failed"}
        tiles = {name for name in row.checks if name != "engine"}  # a cluster is asked by doctor and by runs only
        assert failed == tiles
        assert texts(shown).count("No responde") == len(tiles)
        assert all(health.error for health in app.health.states() if health.state == "failed")
        assert not shown.error
    elif page == "chat":
        shown.chat_input[0].set_value(QUESTION).run()
        if "ask" in row.needed:
            assert len(shown.error) == 1, [error.value for error in shown.error]
        else:
            assert ANSWER in texts(shown)
            assert not shown.error
    else:  # Admin's card of a provider tells it, too
        assert len(shown.error) <= (page == "admin"), [error.value for error in shown.error]


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=() if part == "boto3 absent" else pytest.mark.slow) for part in STORAGE]
)
def test_a_run_on_bundled_data_is_started_in_admin_and_read_in_evaluation_without_s3(
    part: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PARTS[part].take_away(monkeypatch, folder)
    monkeypatch.setenv("GENERATION_ENABLED", "false")
    admin = open_page("admin")
    admin.button(key="run_start").click().run()
    wait_for_jobs(get_app().runs.jobs)
    evaluation = open_page("evaluation", run=str(get_app().archive.runs()[0][0].run_id))
    assert not evaluation.error
    assert "40 de 40 puntuadas" in texts(evaluation)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=() if part == "boto3 absent" else pytest.mark.slow)
        for part, row in STORAGE.items()
        if row.checks == ("storage",)
    ],
)
def test_the_list_of_data_sets_in_admin_says_once_why_s3_cannot_be_listed(
    part: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PARTS[part].take_away(monkeypatch, folder)
    admin = open_page("admin")
    admin.button(key="data_s3").click().run()
    assert len(admin.error) == 1, [error.value for error in admin.error]
    assert "\n" not in admin.error[0].value
    assert "valle_multihop" in str([table.value for table in admin.dataframe])
