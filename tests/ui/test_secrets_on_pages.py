"""No page shows a secret, whoever is signed in: every setting that holds one, on every page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.hostile.test_secrets import CANARIES, MODELS, Echo, canaries, files_below, leaked
from tests.ui.test_admin_guard import enter
from tests.ui.test_pages import open_page


@pytest.fixture
def echo(data_dir: Path, no_keys: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Echo]:
    with canaries(monkeypatch) as server:
        yield server


def everything(app: AppTest) -> str:
    """All that the browser would get of a page: every element, tables included."""

    def walk(node: Any) -> Iterator[str]:
        yield str(getattr(node, "proto", ""))
        for child in getattr(node, "children", {}).values():
            yield from walk(child)

    return "\n".join(walk(app._tree))


_SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "name", ["home", *(pytest.param(name, marks=_SLOW) for name in ("chat", "evaluation", "mykb"))]
)
def test_no_page_shows_a_secret(name: str, echo: Echo, data_dir: Path) -> None:
    page = open_page(name)
    shown = everything(page)
    assert len(shown) > 500
    assert leaked(shown, *files_below(data_dir)) == []


@pytest.mark.parametrize(
    "provider", ["openai", *(pytest.param(name, marks=_SLOW) for name in MODELS if name != "openai")]
)
def test_admin_shows_no_secret_before_and_after_signing_in(provider: str, echo: Echo, data_dir: Path) -> None:
    admin = open_page("admin")
    enter(admin, "wrong-password")
    assert leaked(everything(admin)) == []
    enter(admin, CANARIES["admin_password"])
    assert len(admin.tabs) + len(admin.button) > 5, "signed in"
    admin.button(key=f"try-{provider}").click().run()
    assert leaked(everything(admin), *files_below(data_dir)) == []
    assert echo.requests
