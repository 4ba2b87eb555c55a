"""Providers: a table for the home page and, in Admin, the choice of the provider that answers."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import ProviderStatus
from streamlit_app.shared.i18n import bare, number, plain, t, t_or
from streamlit_app.shared.state import error_text, errors_shown, get_app
from streamlit_app.shared.tables import draw_table


def _shown() -> list[ProviderStatus]:
    """Return the providers that are configured, and those that are always listed."""
    return [status for status in get_app().providers.statuses() if status.configured or status.always_shown]


def _state(status: ProviderStatus) -> str:
    if not status.configured:
        return bare("providers.missing", missing=status.missing)
    if status.check is None:
        return t("providers.untried")
    return t("providers.reachable") if status.check.reachable else t("providers.unreachable")


def _latency(status: ProviderStatus) -> str:
    seconds = status.check.seconds if status.check else None
    return "–" if seconds is None else t("providers.milliseconds", count=number(1_000 * seconds))


def providers_table() -> None:
    """Draw one row per provider. A button tests them over the network; its results stay in the table."""
    if st.button(t("providers.try_all"), icon=":material/network_check:", key="providers-try"):
        with st.spinner(t("providers.trying")):
            get_app().providers.check_configured()
    rows = _shown()
    draw_table(
        [
            {
                t("providers.col.name"): f"{status.name} ✓" if status.chosen else status.name,
                t("providers.col.model"): status.model or "–",
                t("providers.col.state"): _state(status),
                t("providers.col.latency"): _latency(status),
            }
            for status in rows
        ]
    )
    _show_failures(rows)


def _show_failures(rows: list[ProviderStatus]) -> None:
    for status in rows:
        if status.check and status.check.error:
            st.caption(error_text(status.check.error))


def providers_section() -> None:
    """Draw the choice of the provider, what is missing for the others, whether they respond, and the kept replies."""
    providers = get_app().providers
    st.caption(t("providers.about"))
    if providers.fixed:
        st.info(t("providers.fixed", name=get_app().settings.provider), icon=":material/lock:")
    for status in _shown():
        with st.container(border=True):
            text, use, check = st.columns([6, 1.6, 1.4], vertical_alignment="center")
            mark = f" · :green-badge[{t('providers.chosen')}]" if status.chosen else ""
            text.markdown(f"**{plain(status.name)}**{mark} · {t_or(f'provider.{status.name}', '')}")
            parts = [plain(status.model), plain(_state(status))]
            if status.check and status.check.seconds is not None:
                parts.append(_latency(status))
            text.caption(" · ".join(part for part in parts if part))
            if status.note:
                text.caption(f":orange[{t(f'providers.note.{status.note}')}]")
            blocked = providers.fixed or not status.configured or status.chosen
            if use.button(t("providers.use"), key=f"provider-{status.name}", disabled=blocked, width="stretch"):
                with errors_shown():
                    providers.choose(status.name)
                    st.rerun()
            if check.button(
                t("providers.try"), key=f"try-{status.name}", disabled=not status.configured, width="stretch"
            ):
                with st.spinner(t("providers.trying")):
                    providers.check(status.name)
                st.rerun()
            _show_failures([status])
    _cache_section()


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
