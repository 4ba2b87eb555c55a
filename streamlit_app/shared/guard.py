"""Decides who may use Admin and delete things. All pages use this module.

A sign-in by password is kept in the session's state, one by OIDC in Streamlit's cookie. Neither is in the URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, TypedDict

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.network import HostRule, client_of
from streamlit_app.shared.i18n import plain, t
from streamlit_app.shared.state import get_app, show_error

_SIGNED_IN = "admin_signed_in"


def require_known_host() -> None:
    """Show a message and stop if the pages were opened under a name that is not theirs.

    A page of another site can point its own name to this machine and let the visitor's browser read what is here. The
    browser then gives that name as the host.
    """
    host = st.context.headers.get("Host")
    rule = HostRule(get_app().settings.allowed_hosts, st.get_option("server.address") or "")
    # Only tests of pages have no host: a browser always sends one.
    if host is not None and not rule.allows(host):
        st.error(t("guard.host", host=plain(host)), icon=":material/gpp_bad:")
        st.stop()


def is_protected() -> bool:
    """Return whether Admin requires signing in."""
    return get_app().access.has_password or bool(_oidc())


def is_admin() -> bool:
    """Return whether this session may change and delete what all users share."""
    if not is_protected() or st.session_state.get(_SIGNED_IN, False):
        return True
    return (
        bool(_oidc()) and _logged_in() and get_app().access.allows(st.user.get("email"), st.user.get("email_verified"))
    )


class AdminOnly(TypedDict):
    """Arguments of a button that only administrators may press."""

    disabled: bool
    help: str | None


def admin_only(explained: str | None = None) -> AdminOnly:
    """Return the arguments of a button that changes or deletes what all users share.

    The button's action must check ``is_admin`` again: a forged message can press a disabled button.

    Args:
        explained: the button's help if it is enabled.
    """
    allowed = is_admin()
    return {"disabled": not allowed, "help": explained if allowed else t("admin.guard.needed")}


def require_admin() -> None:
    """Show the sign-in form and stop the page if the user is not signed in; if Admin is open to all, say so."""
    if not is_protected():
        st.caption(f":material/lock_open: {t('admin.guard.open')}", help=t("admin.guard.how"))
        return
    if is_admin():
        return
    with st.container(border=True, width=460, key="admin-sign-in"):
        st.subheader(t("admin.guard.title"))
        if get_app().access.has_password:
            _ask_password()
        if _oidc():
            _ask_provider()
    st.stop()


def sign_out_button() -> None:
    """Draw the button to sign out, if the user is signed in. Called on every page."""
    if not is_protected() or not is_admin():
        return
    st.button(
        t("admin.guard.sign_out"), icon=":material/logout:", key="admin-sign-out", type="tertiary", on_click=_sign_out
    )


def _sign_out() -> None:
    st.session_state.pop(_SIGNED_IN, None)
    if _oidc() and _logged_in():
        # st.logout redirects to delete the cookie; an additional rerun would run before it.
        st.logout()


def _ask_password() -> None:
    with st.form("admin-password-form", clear_on_submit=True, border=False):
        given = st.text_input(
            t("admin.guard.password"), type="password", autocomplete="current-password", key="admin-password"
        )
        sent = st.form_submit_button(t("admin.guard.sign_in"), type="primary", icon=":material/login:")
    if not sent:
        return
    try:
        get_app().access.check_password(given, _asker())
    except ChatbotError as error:
        show_error(error)
        return
    st.session_state[_SIGNED_IN] = True
    st.rerun()


def _asker() -> str:
    forwarded = st.context.headers.get_all("X-Forwarded-For")
    return client_of(st.context.ip_address or "", forwarded, get_app().settings.trusted_proxies)


def _ask_provider() -> None:
    if find_spec("authlib") is None:
        st.warning(t("admin.guard.authlib"), icon=":material/deployed_code:")
        return
    if not get_app().access.has_emails:
        st.warning(t("admin.guard.no_emails"), icon=":material/group_off:")
    if _logged_in():
        st.markdown(t("admin.guard.refused", email=plain(str(st.user.get("email") or "–"))))
        st.button(t("admin.guard.other"), icon=":material/logout:", key="admin-oidc-out", on_click=st.logout)
        return
    for name in _oidc():
        label = t("admin.guard.oidc_named", name=name) if name else t("admin.guard.oidc")
        st.button(label, icon=":material/key:", key=f"admin-oidc-{name}", on_click=st.login, args=(name or None,))


def _oidc() -> list[str]:
    """Return the names of the providers under ``[auth]`` in secrets.toml; "" is the unnamed one."""
    try:
        auth: Mapping[str, Any] = st.secrets.get("auth", {})
    except StreamlitSecretNotFoundError:
        return []
    named = [name for name, value in auth.items() if isinstance(value, Mapping)]
    return ["", *named] if "client_id" in auth else named


def _logged_in() -> bool:
    return bool(st.user.get("is_logged_in", False))
