"""One limit of uploads: what the settings allow passes box, server and proxy, and the page refuses what is larger."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit import config, get_option

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from streamlit_app.web.uploaded import ABOVE_MB, MOST_PAGE_MB, box_limit
from tests.ui.test_start_of_pages import pages
from tests.web.test_uploaded import opened, send

DEFAULTS = {name: Settings.model_fields[name].default for name in ("kb_max_upload_mb", "dataset_max_upload_mb")}
LARGEST = max(DEFAULTS.values()) + ABOVE_MB
OPTION = "server.maxUploadSize"


@pytest.fixture
def configured() -> Iterator[int]:
    """What the server takes before a page is drawn, in units of 2^20 bytes."""
    said = tomllib.loads((PROJECT_ROOT / ".streamlit" / "config.toml").read_text())["server"]["maxUploadSize"]
    before = get_option(OPTION)
    config.set_option(OPTION, said)
    yield said
    config.set_option(OPTION, before)


def test_box_server_page_and_proxy_have_one_limit(configured: int) -> None:
    assert configured == LARGEST
    nginx = (PROJECT_ROOT / "deploy" / "nginx.conf").read_text()
    assert re.findall(r"client_max_body_size (\d+)m;", nginx) == [str(LARGEST + 1)], "with what a transfer adds"
    assert "31 more than" in nginx and ABOVE_MB + 1 == 31
    assert "max_size" not in (PROJECT_ROOT / "deploy" / "Caddyfile").read_text()
    assert (LARGEST + 1) * 2**20 <= MOST_PAGE_MB * 1_000_000


def test_a_larger_setting_raises_what_the_server_takes_and_a_smaller_one_does_not_lower_it(configured: int) -> None:
    assert (box_limit(500), get_option(OPTION)) == (500 + ABOVE_MB, 500 + ABOVE_MB)
    assert (box_limit(50), get_option(OPTION)) == (50 + ABOVE_MB, 500 + ABOVE_MB)


def test_what_streamlit_says_of_a_file_that_is_too_large_is_spanish() -> None:
    words = json.loads((PROJECT_ROOT / "streamlit_app" / "i18n" / "streamlit_words.json").read_text("utf-8"))
    assert {"File must be … or smaller.", "AxiosError: Request failed with status code 413"} <= set(words)


@pytest.mark.slow
def test_a_file_of_one_byte_less_than_the_limit_passes_the_server(tmp_path: Path) -> None:
    settings = {"RETRIEVAL_STRATEGY": "LEXICAL", "STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION": "false"}
    with pages(tmp_path, "/", **settings) as started, opened(started, "Admin") as (session_id, _):
        assert send(started, session_id, DEFAULTS["dataset_max_upload_mb"] * 1_000_000 - 1)[0] == 204
