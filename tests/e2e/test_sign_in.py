"""Signing in with a real OpenID provider: who may administer, whose conversations are found, and signing out."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.settings.model import load_settings
from tests.browser import SOON_MS
from tests.e2e.conftest import Server
from tests.e2e.test_tour import DOCUMENT, ask, settle, visit
from tests.loopback import free_port
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(400),  # seven sign-ins in a browser, beside other work
    pytest.mark.skipif(not (shutil.which("node") and shutil.which("npm")), reason="needs node and npm on the PATH"),
]

PACKAGES = ("oidc-provider@8", "Authlib>=1.3.2")
PEOPLE: dict[str, dict[str, Any]] = {
    "ana": {"email": "Ana@example.org", "email_verified": True},
    "claims-to-be-ana": {"email": "ana@example.org", "email_verified": False},
    "eva": {"email": "eva@example.org", "email_verified": True},
    "00u1": {"name": "Luis"},
}
QUESTION = "¿Cuántos libros puede llevarse cada lector?"


@dataclass(frozen=True)
class Site:
    """The pages, and the provider that they ask."""

    server: Server
    issuer: str


def installed(folder: Path) -> dict[str, str]:
    """Install the provider in ``folder``, and Authlib too if this environment lacks it; return what Python needs.

    Both come from the package managers' caches if they were installed before. Without them and without a network the
    tests are skipped.
    """
    provider, authlib = PACKAGES
    python = folder / "python"
    commands = [["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--prefer-offline", provider]]
    if find_spec("authlib") is None:
        commands.append([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(python), authlib])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=150)
        if done.returncode:
            pytest.skip(f"{command[0]} could not install {command[-1]}: {done.stderr.strip()[-300:]}")
    return {"PYTHONPATH": str(python)} if python.is_dir() else {}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder, data_dir = tmp_path_factory.mktemp("oidc"), tmp_path_factory.mktemp("signed-in")
    environment = installed(folder)
    port = free_port()
    issuer = f"http://127.0.0.1:{port}"
    settings = load_settings(data_dir=data_dir)
    KbStore(settings.kb_dir).add("biblioteca.md", DOCUMENT.encode(), settings.kb_max_chars, settings.kb_max_upload_mb)
    server = Server(
        data_dir,
        RETRIEVAL_STRATEGY="LEXICAL",
        PROVIDER="demo",
        ADMIN_EMAILS=f"ana@example.org, {issuer}#00u1",
        HOME=str(folder),  # Streamlit reads secrets.toml there
        **environment,
    )
    redirect = f"{server.url}/oauth2callback"
    (folder / ".streamlit").mkdir()
    secrets = {
        "redirect_uri": redirect,
        "cookie_secret": "another secret of this test",
        "client_id": "chatbot",
        "client_secret": "a secret of this test",
        "server_metadata_url": f"{issuer}/.well-known/openid-configuration",
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in secrets.items()]
    lines.append('client_kwargs = { prompt = "login" }')  # the provider refuses Streamlit's own, "select_account"
    (folder / ".streamlit" / "secrets.toml").write_text("\n".join(["[auth]", *lines]), "utf-8")
    script = shutil.copy(Path(__file__).with_name("oidc_provider.mjs"), folder)  # beside the modules that it imports
    log = folder / "provider.log"
    with log.open("wb") as out:
        provider = subprocess.Popen(
            ["node", script, str(port), redirect, json.dumps(PEOPLE)], cwd=folder, stdout=out, stderr=out
        )
    try:
        wait_until(lambda: _answers(secrets["server_metadata_url"]), 30, "an answer of the provider", 0.2)
        server.start()
        yield Site(server, issuer)
    finally:
        server.kill()
        provider.kill()
        provider.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except OSError:
        return False


@pytest.fixture
def people(browser: Any) -> Iterator[Any]:
    """Makes browsers that know nothing of each other."""
    contexts = []

    def person() -> Any:
        contexts.append(browser.new_context(viewport={"width": 1280, "height": 900}, locale="es-ES"))
        contexts[-1].set_default_timeout(SOON_MS)
        return contexts[-1].new_page()

    yield person
    for context in contexts:
        context.close()


def signed_in(page: Any, site: Site, subject: str) -> Any:
    """Sign in on the provider's own pages, and open Admin."""
    visit(page, site.server, "Admin")
    page.get_by_role("button", name="Entrar con la cuenta de la organización").click()
    page.wait_for_url(f"{site.issuer}/**")
    page.locator("input[name=login]").fill(subject)
    page.locator("input[name=password]").fill("any")
    page.locator("button[type=submit]").click()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{site.server.url}/**")
    settle(page)
    visit(page, site.server, "Admin")
    return page


def may_administer(page: Any) -> bool:
    return bool(page.get_by_role("tab", name="Ajustes").count())


@pytest.mark.parametrize("subject", ["ana", "00u1"], ids=["verified address", "issuer and subject"])
def test_who_is_named_administers_until_they_sign_out(people: Any, site: Site, subject: str) -> None:
    page = signed_in(people(), site, subject)
    assert may_administer(page)
    page.get_by_role("button", name="Salir").click()
    page.wait_for_url(f"{site.issuer}/session/end**")
    page.get_by_role("button", name="Yes, sign me out").click()
    page.wait_for_url(f"{site.server.url}/**")
    visit(page, site.server, "Admin")
    assert not may_administer(page)
    page.get_by_role("button", name="Entrar con la cuenta de la organización").wait_for()


@pytest.mark.parametrize("subject", ["claims-to-be-ana", "eva"], ids=["address not verified", "address not named"])
def test_who_is_not_named_is_told_their_identity_and_administers_nothing(people: Any, site: Site, subject: str) -> None:
    page = signed_in(people(), site, subject)
    assert not may_administer(page)
    page.get_by_text(f"{site.issuer}#{subject}").wait_for()


def test_conversations_are_found_by_who_signed_in_on_any_browser_and_by_nobody_else(people: Any, site: Site) -> None:
    first, second, other = (signed_in(people(), site, subject) for subject in ("eva", "eva", "ana"))
    visit(first, site.server, "Chat")
    ask(first, QUESTION)
    first.locator("[class*='st-key-sources-']").wait_for()
    settle(first)
    for page, found in ((second, 1), (other, 0)):
        visit(page, site.server, "Chat")
        settle(page)
        assert page.locator("[data-testid='stChatMessage']").filter(has_text=QUESTION).count() == found
        assert page.get_by_role("button", name=f"Opciones de «{QUESTION}»").count() == found
    other.goto(first.url)
    other.get_by_text("no es suya").wait_for()
    assert other.get_by_text(QUESTION).count() == 0


def test_a_cookie_of_another_secret_signs_nobody_in(people: Any, site: Site) -> None:
    page = signed_in(people(), site, "ana")
    cookies = {one["name"]: one["value"] for one in page.context.cookies(site.server.url)}
    name = "_streamlit_user"
    # Not the last letter of a signature: in base64 two of its bits say nothing, so that one of 16 forgeries was none.
    head, letter, tail = cookies[name][:-6], cookies[name][-6], cookies[name][-5:]
    forged = f"{head}{'B' if letter == 'A' else 'A'}{tail}"
    page.context.add_cookies([{"name": name, "value": forged, "url": site.server.url}])
    visit(page, site.server, "Admin")
    assert not may_administer(page)
