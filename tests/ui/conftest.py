"""An error that nobody expected is shown as a message, not as an exception: here it fails the test all the same."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from streamlit_app.ui import errors


class Told(logging.Handler):
    """Keeps the records of unexpected errors."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


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
