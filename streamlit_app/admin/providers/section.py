"""Admin tab for providers: a card for each with its state, its cost and where texts go; one is open to be connected."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from chatbot_mvp.api import Connection, ProviderStatus
from streamlit_app.admin.providers.connecting import connect_panel, use_button
from streamlit_app.admin.providers.local import local_panel
from streamlit_app.shared.i18n import Markdown, day, duration_text, number, plain, t, t_or
from streamlit_app.shared.metrics import dollars
from streamlit_app.shared.state import get_app, show_error

_OPEN = "provider_open"
_COLOURS = {"ready": "green", "needs_key": "gray", "needs_model": "orange", "not_running": "orange"}


def providers_section() -> None:
    """Draw the cards, and the number of kept replies."""
    app = get_app()
    st.caption(t("providers.about"))
    if app.providers.fixed:
        st.info(t("providers.fixed", name=app.settings.provider), icon=":material/lock:")
    statuses = {status.name: status for status in app.providers.statuses()}

    def use(one: Connection) -> tuple[bool, bool, bool]:
        """Sort key: what answers comes first, then what could, then what runs on this machine."""
        status = statuses[one.name]
        return not status.chosen, not status.configured, not one.stays_here

    for connection in sorted(app.connections.all(), key=use):
        with st.container(border=True, key=f"provider-card-{connection.name}"):
            _card(connection, statuses[connection.name])
    st.caption(t("providers.cost_basis"))
    _cache_section()


def _card(connection: Connection, status: ProviderStatus) -> None:
    name = connection.name
    text, buttons = st.columns([5, 4], vertical_alignment="center")
    badges = [f":green-badge[:material/check: {t('admin.kb_active')}]"] if status.chosen else []
    if connection.state == "ready" and status.check and not status.check.reachable:
        badges.append(f":red-badge[{t('providers.unreachable')}]")
    elif not status.chosen or connection.state != "ready":
        known = not connection.model or status.check or connection.model in (connection.models or ())
        state = connection.state if known or connection.state != "ready" else "untried"
        badges.append(f":{_COLOURS.get(state, 'gray')}-badge[{t(f'providers.state.{state}')}]")
    text.markdown(f"**{t_or(f'provider.title.{name}', name)}** {' '.join(badges)}")
    model = [plain(connection.model)] if connection.model else []
    text.caption(" · ".join([*model, t_or(f"provider.{name}", "")]))
    text.markdown(f":small[{_where(connection)} · {_cost(connection)}]")  # in a caption, a link is too pale to read
    with buttons.container(horizontal=True, horizontal_alignment="right"):
        _buttons(connection, status)
    if status.note:
        st.markdown(f":small[:orange[{t(f'providers.note.{status.note}')}]]")
    _show_check(status)
    if st.session_state.get(_OPEN) == name:
        st.divider()
        local_panel(connection) if name == "local" else connect_panel(connection, status)


def _buttons(connection: Connection, status: ProviderStatus) -> None:
    name = connection.name
    is_open = st.session_state.get(_OPEN) == name
    use_button(status, f"provider-{name}", t("providers.use"), not is_open)
    if st.button(t("providers.try"), key=f"try-{name}", disabled=not status.configured):
        with st.spinner(t("providers.trying")):
            get_app().providers.try_out(name)
        st.rerun()
    if name != "demo":
        label = t("pane.close" if is_open else "providers.connect")
        icon = ":material/expand_less:" if is_open else ":material/settings:"
        if st.button(label, key=f"connect-{name}", icon=icon):
            st.session_state[_OPEN] = None if is_open else name
            st.rerun()


def _where(connection: Connection) -> str:
    if connection.stays_here:
        return f":material/home: {t('providers.stays')}"
    return f":material/cloud_upload: {t('providers.leaves')}"


def _cost(connection: Connection) -> str:
    usd, price = connection.usd_per_thousand, connection.price
    if usd == 0:
        return t("providers.free")
    if usd is None:
        return t("providers.cost_unknown")
    told = t("providers.cost", cost=dollars(usd))
    if price is None:
        return told
    host = urlsplit(price.source).hostname
    source = Markdown(f"[{plain(host)}]({price.source})") if host else price.source
    return f"{told} ({t('providers.priced', date=day(price.date.isoformat()), source=source)})"


def _show_check(status: ProviderStatus) -> None:
    if (check := status.check) is None:
        return
    time = "–" if check.seconds is None else duration_text(check.seconds)
    if check.error:
        show_error(check.error)
    elif check.reply:
        st.success(t("providers.replied", time=time, reply=check.reply), icon=":material/check_circle:")
    else:
        st.caption(f"{t('providers.reachable')} · {time}")


def _cache_section() -> None:
    """Draw the number of cached replies and a button to delete them."""
    cache = get_app().providers.reply_cache()
    text, clear = st.columns([6, 3], vertical_alignment="center")
    enabled = get_app().settings.llm_cache_enabled
    text.caption(t("providers.cache", count=number(len(cache))) if enabled else t("providers.cache_off"))
    if clear.button(
        t("providers.cache_clear"), key="cache-clear", icon=":material/delete_sweep:", disabled=not len(cache)
    ):
        cache.clear()
        st.rerun()
