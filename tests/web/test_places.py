"""How many pages may be open, over real connections; and whose answers end when the last page is closed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from streamlit_app.web.places import MOST_OF_ALL, MOST_OF_CLIENT, MOST_OF_VISITOR, Places
from tests.ui.test_start_of_pages import Pages, pages
from tests.web.test_guard import reply


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    with pages(tmp_path_factory.mktemp("pages"), "/", RETRIEVAL_STRATEGY="LEXICAL") as running:
        yield running


def opened(started: Pages, cookie: str) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{started.port}/_stcore/stream",
        additional_headers={"Cookie": cookie} if cookie else None,
        subprotocols=["streamlit"],  # type: ignore[list-item]
    )


def test_a_browser_has_only_so_many_pages_open_and_is_told(started: Pages) -> None:
    own, other = (str(reply(started, "/").getheader("Set-Cookie")).partition(";")[0] for _ in range(2))
    with ExitStack() as stack:
        pages_of_own = [stack.enter_context(opened(started, own)) for _ in range(MOST_OF_VISITOR)]
        with pytest.raises(InvalidStatus):
            opened(started, own)
        told = reply(started, "/Chat", Cookie=own, Sec_Fetch_Dest="document")
        assert (told.status, told.getheader("Retry-After")) == (429, "60")
        stack.enter_context(opened(started, other))
        assert reply(started, "/Chat", Cookie=other, Sec_Fetch_Dest="document").status == 200
        pages_of_own[0].close()
        for _ in range(50):
            if reply(started, "/Chat", Cookie=own, Sec_Fetch_Dest="document").status == 200:
                break
            time.sleep(0.1)
        stack.enter_context(opened(started, own))


def test_an_address_and_the_server_have_only_so_many_pages_open() -> None:
    places = Places()
    with ExitStack() as stack:
        for _ in range(MOST_OF_CLIENT):
            stack.enter_context(places.taken("", "203.0.113.1"))
        assert f"tiene {MOST_OF_CLIENT} páginas" in places.refusal("", "203.0.113.1")
        assert places.refusal("", "203.0.113.2") == ""
        for number in range(MOST_OF_ALL - MOST_OF_CLIENT):
            assert places.refusal(f"{number}", "forwarded") == "", "they share an address that tells nobody apart"
            stack.enter_context(places.taken(f"{number}", "forwarded"))
        assert "Este servidor" in places.refusal("", "203.0.113.2")
    assert places.refusal("", "203.0.113.1") == ""
