"""Each method of the App says who may call it, and every call that a page makes is checked."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.app import build_app
from chatbot_mvp.settings.access import Action, Who, performs
from chatbot_mvp.settings.model import load_settings
from streamlit_app.shared.state import get_app
from tests.raising import raises
from tests.ui.test_pages import ROOT

pytestmark = pytest.mark.usefixtures("data_dir", "no_keys")


def parts() -> dict[str, type]:
    """Each part of the App by its name, and each service of a wing by that of its class."""
    found = {name: type(part) for name, part in vars(build_app(load_settings())).items()}
    for path in (ROOT / "chatbot_mvp" / "wings").glob("*/service.py"):
        module = import_module(f"chatbot_mvp.wings.{path.parent.name}.service")
        services = [one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__]
        found |= {service.__name__: service for service in services if hasattr(service, "of")}
    return found


def marked_calls() -> dict[str, Action]:
    """ "<part>.<method>" -> the action that the method is marked with."""
    found = {}
    for name, part in parts().items():
        for method in dir(part):
            action = getattr(getattr(part, method), "performs", None)
            if action is not None:
                found[f"{name}.{method}"] = action
    return found


def guarded_calls(*allowed: Who) -> list[str]:
    return sorted(call for call, action in marked_calls().items() if action.who in allowed)


class Reached(Exception):
    """The App was reached."""


def planted(call: str) -> Callable[..., Any]:
    """The call as pages make it; the method behind it fails with ``Reached``."""
    part, _, method = call.partition(".")
    gate: Any = get_app()
    holder = gate._parts[part] if part in gate._parts else gate.get(parts()[part])
    whole = holder._part

    def reached(*_: object) -> None:
        raise Reached

    action = getattr(getattr(whole, method), "performs", None)
    object.__setattr__(whole, method, reached if action is None else performs(action)(reached))
    return getattr(holder, method)  # type: ignore[no-any-return]


@pytest.mark.sampled(15)
@pytest.mark.parametrize("call", guarded_calls(Who.ADMIN, Who.OWNER))
def test_a_guarded_call_of_a_visitor_does_not_reach_the_app(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
    attempt = planted(call)
    with raises("admin_needed", match=re.escape(call)):
        attempt("of somebody else")
    with raises("admin_needed"):
        attempt()


@pytest.mark.parametrize("call", ["kbs.delete", "uploads.stop", "kbs.forget_index"])
def test_without_a_password_every_call_reaches_the_app(data_dir: Path, call: str) -> None:
    with pytest.raises(Reached):
        planted(call)("anything")


def test_a_call_that_no_rule_names_is_for_administrators(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
    assert "kbs.forget_index" not in marked_calls()
    with raises("admin_needed"):
        planted("kbs.forget_index")("id")


def test_the_session_that_began_an_upload_may_stop_it(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
    planted("uploads.stop")

    def page() -> None:
        import streamlit as st

        from streamlit_app.shared.state import get_app

        st.session_state.kb_job = "mine"
        for job in ("mine", "other"):
            try:
                get_app().uploads.stop(job)
            except Exception as error:  # noqa: BLE001
                st.text(f"{job}: {type(error).__name__}")

    shown = AppTest.from_function(page).run()
    assert [text.value for text in shown.text] == ["mine: Reached", "other: SignInError"]


def calls_of_pages() -> dict[str, str]:
    """ "<part>.<method>" -> a file that makes this call, through ``get_app()`` or a name that was given it."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "streamlit_app").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        names: dict[str, str] = {}

        def of_app(node: ast.expr, names: dict[str, str] = names) -> str | None:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "get_app":
                return ""
            if isinstance(node, ast.Name):
                return names.get(node.id)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
                return None if of_app(node.func.value) != "" else ast.unparse(node.args[0])
            if isinstance(node, ast.Attribute) and (start := of_app(node.value)) is not None:
                return f"{start}.{node.attr}".lstrip(".")
            return None

        assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
        for _ in range(2):  # a part may be taken from a name that stands for the App
            for node in assigned:
                targets, values = node.targets, [node.value]
                if isinstance(targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                    targets, values = targets[0].elts, node.value.elts
                for target, value in zip(targets, values, strict=False):
                    if isinstance(target, ast.Name) and (start := of_app(value)) is not None and "." not in start:
                        names[target.id] = start
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and (call := of_app(node)) is not None and call.count(".") == 1:
                found[call] = path.name
    return found


def test_every_call_of_a_page_is_marked_and_every_mark_is_of_a_call(data_dir: Path) -> None:
    known = parts()
    methods = {
        call: file
        for call, file in calls_of_pages().items()
        if not call.startswith(("settings.", "access."))
        and callable(getattr(known[call.partition(".")[0]], call.partition(".")[2], None))
    }
    marked = marked_calls()
    assert {call: file for call, file in methods.items() if call not in marked} == {}
    assert set(marked) - set(methods) == set()


def test_a_service_of_a_wing_checks_its_calls_too(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counter:
        @classmethod
        def of(cls, app: object) -> Counter:
            return cls()

        @performs(Action.READ)
        def count(self) -> int:
            return 3

        def reset(self) -> None:
            raise Reached

    monkeypatch.setenv("ADMIN_PASSWORD", "una contraseña larga")
    counter = get_app().get(Counter)
    assert counter.count() == 3
    with raises("admin_needed", match=r"Counter\.reset"):
        counter.reset()
    assert get_app().get(Counter)._part is counter._part


def test_pages_reach_files_and_services_only_through_the_app() -> None:
    """So a widget can change nothing that is not in the table: what it calls goes through the gate."""
    besides_api = {"types", "text", "errors", "api", "settings.access"}
    besides_api |= {"plugins.finding", "plugins.kinds", "plugins.rows"}
    more = {"shared/state.py": {"app", "settings.model"}, "shared/permissions.py": {"app"}}
    more |= {"shared/errors.py": {"logs", "settings.model"}, "shared/i18n.py": {"settings.model"}}
    more |= {"shared/guard.py": {"settings.network"}, "web/connections.py": {"server.connections"}}
    # The server around the pages, which begins before there is an App.
    more |= {"web/guard.py": {"settings.kinds", "settings.model", "settings.network"}}
    more |= {
        "streamlit_app/__main__.py": {"ending"},
        "web/places.py": {"settings.network"},
        "web/visitor.py": {"storage.secret_key"},
    }
    writing = re.compile(
        r"\.(write_text|write_bytes|unlink|rmdir|mkdir|touch)\("
        r"|\bopen\(|(?<!kbs)(?<!chat)\.rename\(|shutil|subprocess|import os\b"
    )
    for path in sorted((ROOT / "streamlit_app").rglob("*.py")):
        text = path.read_text("utf-8")
        imported = set(re.findall(r"from chatbot_mvp\.([\w.]+) import", text))
        if path.parent.parent.name == "wings":  # a wing's pages may use the wing
            imported = {name for name in imported if not name.startswith(f"wings.{path.parent.name}.")}
        assert imported - besides_api - more.get(f"{path.parent.name}/{path.name}", set()) == set(), path
        assert not writing.search(text), path


def test_the_api_has_what_is_taken_from_it_and_no_more() -> None:
    imported = set()
    for path in [*(ROOT / "chatbot_mvp").rglob("*.py"), *(ROOT / "streamlit_app").rglob("*.py")]:
        imported |= names_from(path, "chatbot_mvp.api")
    assert names_from(ROOT / "chatbot_mvp" / "api.py") == imported


def names_from(path: Path, module: str = "") -> set[str]:
    """The names that a file imports from a module; without one, the names that it has by importing them."""
    found = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    wanted = [node for node in found if node.module != "__future__" and module in ("", node.module)]
    return {alias.name if module else alias.asname or alias.name for node in wanted for alias in node.names}


def test_the_docs_have_the_actions() -> None:
    page = (ROOT / "docs" / "operate" / "password.md").read_text("utf-8")
    assert "\n".join(f"| {action.sentence} | {action.who.value} |" for action in Action) in page
