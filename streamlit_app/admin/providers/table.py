"""Table of the providers that are configured, for the home page; how a provider's state is told."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import ProviderStatus
from streamlit_app.shared.i18n import bare, duration_text, t
from streamlit_app.shared.state import error_text, get_app
from streamlit_app.shared.tables import draw_table


def _state(status: ProviderStatus) -> str:
    if not status.configured:
        return bare("providers.missing", missing=status.missing)
    if status.check is None:
        return t("providers.untried")
    return t("providers.reachable") if status.check.reachable else t("providers.unreachable")


def latency(status: ProviderStatus) -> str:
    """Return how long the latest try took; a dash if nothing was timed."""
    seconds = status.check.seconds if status.check else None
    return "–" if seconds is None else duration_text(seconds)


def providers_table() -> None:
    """Draw one row per provider. A button tests them over the network; its results stay in the table."""
    if st.button(t("providers.try_all"), icon=":material/network_check:", key="providers-try"):
        with st.spinner(t("providers.trying")):
            get_app().providers.check_configured()
    rows = [status for status in get_app().providers.statuses() if status.configured or status.always_shown]
    draw_table(
        [
            {
                t("providers.col.name"): f"{status.name} ✓" if status.chosen else status.name,
                t("runs.col.model"): status.model or "–",
                t("providers.col.state"): _state(status),
                t("providers.col.latency"): latency(status),
            }
            for status in rows
        ]
    )
    for status in rows:
        if status.check and status.check.error:
            st.caption(error_text(status.check.error))
