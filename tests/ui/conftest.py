"""What tests of pages have in common. An error that nobody expected is shown as a message: here it fails the test."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings, load_settings
from streamlit_app.shared import errors
from streamlit_app.shared.state import get_app


class Told(logging.Handler):
    """Keeps the records of unexpected errors."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(scope="session", autouse=True)
def components_are_looked_for_once() -> Iterator[None]:
    """Streamlit reads the metadata of all installed packages each time an ``AppTest`` starts (0.2 s)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session", autouse=True)
def theme_is_read() -> None:
    """Streamlit reads ``.streamlit`` once, from the folder that it is first asked in: not that of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(PROJECT_ROOT)
        config.get_config_options(force_reparse=True)


@pytest.fixture(autouse=True)
def told(request: pytest.FixtureRequest, logging_as_it_was: None) -> Iterator[Told]:
    """What pages logged as unexpected; nothing, unless the test is marked ``page_errors``."""
    handler = Told()
    logger = logging.getLogger(errors.__name__)
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)
    if request.node.get_closest_marker("page_errors") is None:
        assert not handler.records, [record.getMessage() for record in handler.records]


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an App of the test's own; strategy LEXICAL, so that no test waits for vectors."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    get_app.clear()
    yield tmp_path
    get_app.clear()


@pytest.fixture(scope="session")
def vector_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of vectors that tests with ``known_vectors`` have in common."""
    return tmp_path_factory.mktemp("vectors") / "vectors.sqlite"


@pytest.fixture
def known_vectors(data_dir: Path, vector_cache: Path) -> None:
    """For runs with answers: a text that an earlier test has embedded is not embedded again, which takes seconds."""
    cache = load_settings().cache_dir
    cache.mkdir(parents=True)
    (cache / vector_cache.name).symlink_to(vector_cache)


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keys the machine has: none here."""
    for name in Settings.model_fields:
        if name.endswith(("_api_key", "_model_name", "_model_path")) or name == "provider":
            monkeypatch.delenv(name.upper(), raising=False)
