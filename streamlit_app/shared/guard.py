"""Draws the sign-in, and disables the widgets of what the visitor may not do. All pages use this module.

A sign-in by password is kept in the session's state, one by OIDC in Streamlit's cookie. Neither is in the URL.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TypedDict

import streamlit as st

from chatbot_mvp.settings.access import Action, Who, identity_of
from chatbot_mvp.settings.network import client_of
from streamlit_app.shared.i18n import plain, t
from streamlit_app.shared.permissions import SIGNED_IN, is_administrator, is_logged_in, is_protected, sign_in_providers
from streamlit_app.shared.state import errors_shown, get_app


def is_admin() -> bool:
    """Return whether this session may change and delete what all users share."""
    return is_administrator(get_app().access)


def may(action: Action) -> bool:
    """Return whether this session may perform an action on what all users share."""
    return action.who is Who.EVERYONE or is_admin()


class Guarded(TypedDict):
    """Arguments of a widget for an action that not everybody may perform."""

    disabled: bool
    help: str | None


def guarded(action: Action, explained: str | None = None, disabled: bool = False) -> Guarded:
    """Return the arguments of a widget that performs an action. The call to the App checks the permission again.

    Args:
        explained: the widget's help for those who may perform the action.
        disabled: whether the widget is disabled for another reason.
    """
    allowed = may(action)
    return {"disabled": disabled or not allowed, "help": explained if allowed else t("admin.guard.needed")}


def offer_undo(name: str, key: str, action: Action, undo: Callable[[], object]) -> None:
    """Draw the name of something that is deleted, and the button that brings it back."""
    row = st.container(horizontal=True, vertical_alignment="center")
    row.caption(f":material/delete: {t('admin.kb_deleted', name=name)}", width="stretch")
    if row.button(t("admin.kb_undelete"), key=f"undelete-{key}", icon=":material/undo:", **guarded(action)):
        with errors_shown():
            undo()
            st.rerun()


def require_admin() -> None:
    """Show the sign-in form and stop the page if the user is not signed in; if Admin is open to all, say so."""
    if not is_protected(get_app().access):
        st.caption(f":material/lock_open: {t('admin.guard.open')}", help=t("admin.guard.how"))
        return
    if is_admin():
        return
    with st.container(border=True, width=460, key="admin-sign-in"):
        st.header(t("admin.guard.title"))
        if get_app().access.has_password:
            _ask_password()
        if sign_in_providers():
            _ask_provider()
    st.stop()


def sign_out_button() -> None:
    """Draw the button to sign out, if the user is signed in. Called on every page."""
    if not is_protected(get_app().access) or not is_admin():
        return
    st.button(
        t("admin.guard.sign_out"), icon=":material/logout:", key="admin-sign-out", type="tertiary", on_click=_sign_out
    )


def _sign_out() -> None:
    st.session_state.pop(SIGNED_IN, None)
    if sign_in_providers() and is_logged_in():
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
    with errors_shown():
        get_app().access.check_password(given, _asker())
        st.session_state[SIGNED_IN] = True
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
    if is_logged_in():
        identity = identity_of(st.user.to_dict()) or "–"
        st.markdown(t("admin.guard.refused", email=plain(str(st.user.get("email") or "–")), identity=plain(identity)))
        st.button(t("admin.guard.other"), icon=":material/logout:", key="admin-oidc-out", on_click=st.logout)
        return
    for name in sign_in_providers():
        label = t("admin.guard.oidc_named", name=name) if name else t("admin.guard.oidc")
        st.button(label, icon=":material/key:", key=f"admin-oidc-{name}", on_click=st.login, args=(name or None,))
