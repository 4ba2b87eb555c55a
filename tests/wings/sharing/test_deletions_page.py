"""Many deletions through the shared folder, on the page Admin: an administrator confirms or undoes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.wings.sharing.service import Sharing
from streamlit_app.shared.permissions import SIGNED_IN
from streamlit_app.shared.state import get_app
from tests.s3_server import S3Server
from tests.ui.test_admin_guard import PASSWORD
from tests.ui.test_pages import open_page, texts
from tests.wings.sharing.servers import bucket_of, new_prefix

# One process starts the server.
pytestmark = [pytest.mark.usefixtures("data_dir", "no_keys"), pytest.mark.xdist_group("s3")]

NAMES = [f"manual-{number}.md" for number in range(6)]


@pytest.fixture
def emptied(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """The App of the pages, after another server deleted all knowledge bases; returns the other server."""
    monkeypatch.setattr(Sharing, "start", lambda _: None)  # the test says when files are exchanged
    for name, value in bucket_of(s3, new_prefix()).items():
        monkeypatch.setenv(name, value)
    own, other = get_app(), build_app(load_settings(data_dir=tmp_path / "other"))
    for name in NAMES:
        own.kbs.add(name, f"# {name}\n\nTexto de {name}.\n".encode())
    own.get(Sharing).exchange()
    other.get(Sharing).exchange()
    for record in other.kbs.records():
        other.kbs.delete(record.kb_id)
    other.get(Sharing).exchange("apply")
    own.get(Sharing).exchange()
    return other


def names(app: App) -> list[str]:
    return sorted(record.kb_name for record in app.kbs.records())


def ticked(page: AppTest) -> AppTest:
    """The page after its box was ticked: the list was read."""
    [box] = [box for box in page.checkbox if str(box.key).startswith("deletions-sure")]
    return box.check().run()


def asks(page: AppTest) -> bool:
    return any(button.key == "deletions-apply" for button in page.button)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("language", "said"), [("es", "6 eliminaciones de la carpeta"), ("en", "6 deletions in the shared folder")]
)
def test_what_waits_is_said_and_named(emptied: App, language: str, said: str) -> None:
    page = open_page("admin", language)
    assert said in page.warning[0].value
    assert all(name in texts(page) for name in NAMES)
    assert page.button(key="deletions-apply").disabled, "the list was not read"


@pytest.mark.slow
def test_confirmed_deletions_are_carried_out(emptied: App) -> None:
    page = open_page("admin")
    ticked(page).button(key="deletions-apply").click().run()
    assert not page.exception and not page.error
    assert names(get_app()) == []
    assert not asks(page)


@pytest.mark.slow
def test_undone_deletions_bring_the_files_back_to_both_servers(emptied: App) -> None:
    page = open_page("admin")
    page.button(key="deletions-undo").click().run()
    assert not page.exception and not page.error
    assert not asks(page)
    emptied.get(Sharing).exchange()
    assert names(get_app()) == names(emptied) == NAMES


@pytest.mark.slow
def test_the_yes_is_for_the_deletions_that_were_shown(emptied: App) -> None:
    """Another one comes between reading the list and the click."""
    page = ticked(open_page("admin"))
    more = get_app().kbs.add("nuevo.md", b"# Nuevo\n\nTexto nuevo.\n")
    for app in (get_app(), emptied):
        app.get(Sharing).exchange()
    emptied.kbs.delete(more.kb_id)
    emptied.get(Sharing).exchange("apply")
    assert len(get_app().get(Sharing).exchange().waiting) == 7
    page.button(key="deletions-apply").click().run()
    assert len(names(get_app())) == 7
    ticked(page).button(key="deletions-apply").click().run()
    assert names(get_app()) == []


@pytest.mark.slow
@pytest.mark.page_errors  # other sections of the page are drawn and refused, too
def test_a_visitor_sees_no_deletions_and_confirms_none(emptied: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    get_app.clear()
    waiting = get_app().get(Sharing)._part.exchange().waiting  # type: ignore[attr-defined]  # behind the gate
    assert len(waiting) == 6
    hidden = open_page("admin")
    assert NAMES[0] not in texts(hidden) and not asks(hidden)
    # Drawn as for an administrator, so that nothing but the gate before the App refuses.
    monkeypatch.setattr("streamlit_app.shared.guard.is_admin", lambda: True)
    page = open_page("admin")
    for key in ("deletions-undo", "deletions-apply"):
        ticked(page).button(key=key).click().run()
        assert "solo para quien administra" in "".join(error.value for error in page.error)
    assert names(get_app()) == NAMES and len(get_app().get(Sharing).waiting) == 6
    page.session_state[SIGNED_IN] = True
    page.run().button(key="deletions-undo").click().run()
    assert not page.error and not asks(page)
