"""Enforces who may do what: pages call the App through a gate that checks every call by the action it is marked with.

Disabling a button tells the visitor, but a page may forget to do it. So the check is made where a page calls the App,
and a page cannot leave it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from typing import Any, cast

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

from chatbot_mvp.app import App, Service
from chatbot_mvp.errors import SignInError
from chatbot_mvp.settings.access import AdminAccess, Who, who_may

SIGNED_IN = "admin_signed_in"
"""Key of the session's state: True after the password."""
_OWN = ("chat_session", "kb_job")
"""Keys of the session's state whose values name what this session began: its conversations and its last upload."""


def is_protected(access: AdminAccess) -> bool:
    """Return whether the server distinguishes administrators from other visitors."""
    return access.has_password or bool(sign_in_providers())


def is_administrator(access: AdminAccess) -> bool:
    """Return whether this session may do everything; on a server without protection, every session may."""
    if not is_protected(access) or st.session_state.get(SIGNED_IN, False):
        return True
    return bool(sign_in_providers()) and is_logged_in() and access.allows(st.user.to_dict())


def is_logged_in() -> bool:
    """Return whether an identity provider vouches for the visitor."""
    return bool(st.user.get("is_logged_in", False))


def sign_in_providers() -> list[str]:
    """Return the names of the providers under ``[auth]`` in secrets.toml; "" is the unnamed one."""
    try:
        auth: Mapping[str, Any] = st.secrets.get("auth", {})
    except StreamlitSecretNotFoundError:
        return []
    named = [name for name, value in auth.items() if isinstance(value, Mapping)]
    return ["", *named] if "client_id" in auth else named


def gated(app: App) -> App:
    """Return the App as pages may use it: a call that this session may not make raises ``SignInError``."""
    return cast(App, _Gate(app))


class _Gate:
    """Stands for the App: its parts check their calls."""

    def __init__(self, app: App) -> None:
        self._app = app
        parts = {name: part for name, part in vars(app).items() if part is not app.access}  # which only decides
        self._parts = {name: _Part(part, name, app.access) for name, part in parts.items()}

    def __getattr__(self, name: str) -> Any:
        # What is no part of the App is a property such as ``settings``, which only describes.
        return self._parts[name] if name in self._parts else getattr(self._app, name)

    def get(self, kind: type[Service]) -> Any:
        """Stand for ``App.get``."""
        return _Part(self._app.get(kind), kind.__name__, self._app.access)


class _Part:
    """Stands for one part of the App: its methods check who calls them, each time they are called."""

    def __init__(self, part: Any, name: str, access: AdminAccess) -> None:
        self._part, self._name, self._access = part, name, access

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        if not callable(value):
            return value
        call = f"{self._name}.{name}"
        who = who_may(value)
        if who is Who.EVERYONE:
            return value

        @wraps(value)
        def checked(*args: Any, **kwargs: Any) -> Any:
            own = who is Who.OWNER and any(args[:1]) and args[0] in [st.session_state.get(key) for key in _OWN]
            if not own and not is_administrator(self._access):
                raise SignInError("admin_needed", call=call)
            return value(*args, **kwargs)

        return checked
