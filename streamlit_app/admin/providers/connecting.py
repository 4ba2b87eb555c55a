"""Connects a provider in steps: its server and key, a try, its model."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import Connection, ProviderStatus
from streamlit_app.shared.i18n import code, plain, t
from streamlit_app.shared.state import errors_shown, get_app


def connect_panel(connection: Connection, status: ProviderStatus) -> None:
    """Draw the steps that a provider has."""
    if connection.state == "not_installed":
        st.info(t("providers.install", command=code(connection.command)), icon=":material/package_2:")
    if connection.name == "ollama":
        _servers_here(connection)
    if connection.key is not None:
        _key_is(connection)
    asks_key = connection.key is not None and bool(connection.key.places)
    if asks_key or connection.address_changeable:
        _server_form(connection, asks_key)
    _model(connection)
    if connection.model and status.chosen:
        st.caption(f":green[:material/check_circle:] {t('providers.in_use', model=connection.model)}")
    elif connection.model:
        use_button(status, f"use-model-{connection.name}", t("providers.use_model", model=connection.model), True)


def use_button(status: ProviderStatus, key: str, label: str, primary: bool) -> None:
    """Draw the button from whose press on a provider answers."""
    providers = get_app().providers
    usable = status.configured and not status.chosen and not providers.fixed
    if st.button(label, key=key, disabled=not usable, type="primary" if usable and primary else "secondary"):
        with errors_shown():
            providers.choose(status.name)
            st.rerun()


def _servers_here(connection: Connection) -> None:
    """Offer the servers that are at work on this machine, unless the only one is in use."""
    with st.spinner(t("providers.trying")):
        found = get_app().connections.servers_here()
    if connection.state == "not_running" and not found:
        st.info(t("providers.ollama_start", address=code(connection.address)), icon=":material/power:")
    if set(found.values()) <= {connection.address} or not connection.address_changeable:
        return
    replaced = connection.model or connection.address in found.values()
    st.caption(t("providers.here_other", address=code(connection.address)) if replaced else t("providers.here"))
    row = st.container(horizontal=True)
    for name, address in found.items():
        used = address == connection.address
        label = f"{plain(name)} · {plain(address.split('/')[2])}"
        if row.button(label, key=f"here-{name}", icon=":material/check:" if used else ":material/dns:", disabled=used):
            with errors_shown():
                get_app().connections.connect(connection.name, address=address)
                st.rerun()


def _key_is(connection: Connection) -> None:
    """Say where the key is, and offer to forget it."""
    assert connection.key is not None
    source = connection.key.source
    if connection.key_url and connection.key.places:
        st.link_button(t("providers.key_from"), connection.key_url, type="tertiary", icon=":material/open_in_new:")
    if source == "default":
        return
    told, forget = st.columns([5, 2], vertical_alignment="center")
    told.caption(f":material/key: {t('providers.key_is', place=t(f'providers.place.{source}'))}")
    if not connection.key.places:
        told.caption(t("providers.key_outside"))
    elif forget.button(
        t("providers.key_forget"), key=f"forget-{connection.name}", icon=":material/key_off:", width="stretch"
    ):
        with errors_shown():
            get_app().connections.forget_key(connection.name)
            st.rerun()


def _server_form(connection: Connection, asks_key: bool) -> None:
    """Ask for the key, where to keep it, and the address."""
    name, places = connection.name, connection.key.places if connection.key else ()
    # A field that was sent is gone with its text: page and session forget the key with the next field.
    turn = st.session_state.setdefault(f"turn-{name}", 0)
    with st.form(f"server-{name}-{turn}", border=False):
        # Another address is another field: Streamlit would keep the text of the one before.
        address = (
            st.text_input(t("providers.address"), connection.address, key=f"address-{name}-{connection.address}")
            if connection.address_changeable
            else None
        )
        key = ""
        place = places[0] if places else "memory"
        if asks_key:
            key = st.text_input(
                t("providers.key"),
                type="password",
                key=f"key-{name}-{turn}",
                autocomplete="off",
                help=t("providers.key_help"),
            )
            labels = {one: t(f"providers.place.{one}") for one in places}
            place = st.radio(
                t("providers.keep"), places, format_func=labels.__getitem__, key=f"keep-{name}", horizontal=True
            )
        label = t("providers.save_try" if asks_key else "runs.search")
        sent = st.form_submit_button(label, type="primary" if asks_key else "secondary", icon=":material/bolt:")
    if sent:
        with errors_shown(), st.spinner(t("providers.trying")):
            get_app().connections.connect(name, key, address, place)
            st.session_state[f"turn-{name}"] += 1
            _try(connection)
            st.rerun()


def _try(connection: Connection) -> None:
    """Ask for a reply if there is a model, and for the models if the provider answers: the only one is taken."""
    app, name = get_app(), connection.name
    status = next(status for status in app.providers.statuses() if status.name == name)
    if not status.configured or app.providers.try_out(name).reachable:
        with errors_shown():
            listed = app.connections.list_models(name)
            if len(listed) == 1 and connection.model_changeable and listed[0] != connection.model:
                app.connections.choose_model(name, listed[0])
                app.providers.try_out(name)


def _model(connection: Connection) -> None:
    """Choose the model: one of those listed, or any other by its name."""
    if not connection.model_changeable:
        if connection.model:
            st.caption(t("providers.model_outside", model=connection.model))
        return
    name, listed = connection.name, connection.models
    options = list(dict.fromkeys([*([connection.model] if connection.model else []), *(listed or ())]))
    choice, ask = st.columns([5, 2], vertical_alignment="bottom")
    chosen = choice.selectbox(
        t("runs.col.model"),
        options,
        index=0 if connection.model else None,
        key=f"model-{name}-{connection.model}-{len(options)}",
        accept_new_options=True,
        placeholder=t("providers.model_hint"),
        help=t("providers.model_help"),
    )
    reachable = connection.state in ("ready", "needs_model") and name != "huggingface"
    if ask.button(
        t("providers.list"), key=f"list-{name}", icon=":material/list:", width="stretch", disabled=not reachable
    ):
        with errors_shown(), st.spinner(t("providers.trying")):
            get_app().connections.list_models(name)
            st.rerun()
    if listed is not None:
        st.caption(t("providers.listed", count=len(listed)))
    if chosen and chosen != connection.model:
        with errors_shown():
            get_app().connections.choose_model(name, chosen.strip())
            st.rerun()
