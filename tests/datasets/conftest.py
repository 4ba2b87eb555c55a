"""A server of files that speaks as the public hub does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.datasets.hub_stub import HubStub


@pytest.fixture
def hub() -> Iterator[HubStub]:
    """Serves what a test puts into ``files``."""
    with HubStub() as server:
        yield server
