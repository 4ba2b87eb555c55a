"""The choice of what the next questions of a session are asked of: further bases, and documents of them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import ALL_DOCUMENTS, DocumentFilter, KbDocument, KbRecord
from streamlit_app.shared.i18n import date_format, day, number, shortened, t
from streamlit_app.shared.lasting import lasting
from streamlit_app.shared.session import FILTERS_BEGUN, also_key, chosen_kbs
from streamlit_app.shared.state import get_app, kb_names

_LISTS = ("folders", "tags", "documents")
_DAYS = ("since", "until")
_LABEL_CHARS = 26  # of a title in the bar


def ask_sources(kb: KbRecord) -> tuple[list[KbRecord], DocumentFilter]:
    """Draw the popover of what is asked, if there is a choice: other knowledge bases, and which documents.

    The choice stays with the session; that of documents for a conversation, apart for each choice of knowledge bases.

    Returns:
        All knowledge bases that are asked, ``kb`` first, and the filter, which holds in all.
    """
    records, key, kbs = get_app().kbs.records(), also_key(kb.kb_id), chosen_kbs()
    documents = [document for kb in kbs for document in get_app().kb_changes.documents(kb.kb_id)]
    if len(records) < 2 and len(documents) < 2:
        return kbs, ALL_DOCUMENTS
    legal = {
        "folders": sorted({folder for one in documents for folder in _folders(one.folder)}),
        "tags": sorted({tag for one in documents for tag in one.tags}),
        "documents": list(dict.fromkeys(one.path for one in documents)),
    }
    for name in (*_LISTS, *_DAYS, "dated"):
        value = st.session_state[lasting(_key(kbs, name), [] if name in _LISTS else None)]
        if name in _LISTS and not set(value).issubset(legal[name]):
            st.session_state[_key(kbs, name)] = [one for one in value if one in legal[name]]
    chosen, titles = _chosen(kbs), _titles(documents)
    asked = chosen.chosen_of(documents)
    label = t("filter.all")
    if chosen and len(asked) == 1:
        label = t("filter.only", title=shortened(titles[asked[0].path], _LABEL_CHARS))
    elif chosen:
        label = t("filter.some", count=number(len(asked)), total=number(len(documents)))
    with st.popover(label, icon=":material/filter_alt:"):
        if len(records) > 1:
            names = kb_names(records)
            # Written in each run: other pages read it too, where the widget is not drawn.
            st.session_state[key] = [other.kb_id for other in kbs[1:]]
            st.multiselect(
                t("chat.also"),
                [record.kb_id for record in records if record.kb_id != kb.kb_id],
                key=key,
                format_func=names.__getitem__,
                placeholder=t("chat.also_none"),
                help=t("chat.also_help"),
            )
        st.caption(t("filter.help"))
        for name in _LISTS:
            if legal[name]:
                st.multiselect(
                    t(f"filter.{name}"),
                    legal[name],
                    key=_key(kbs, name),
                    format_func=lambda one: titles.get(one, one),
                    placeholder=t("filter.any"),
                )
        for place, name in zip(st.columns(2), _DAYS, strict=True):
            place.date_input(t(f"filter.{name}"), value=None, key=_key(kbs, name), format=date_format())
        st.segmented_control(
            t("filter.dated"),
            ("updated", "created"),
            key=_key(kbs, "dated"),
            format_func=lambda name: t(f"filter.dated.{name}"),
        )
        st.button(t("filter.reset"), icon=":material/filter_alt_off:", type="tertiary", on_click=_reset, args=(kbs,))
    if chosen and not asked:
        st.warning(t("filter.none"), icon=":material/filter_alt_off:")
    return kbs, chosen


def show_filter(documents: DocumentFilter) -> None:
    """Draw what a question was limited to; nothing if it was asked of all documents."""
    if documents:
        st.caption(f":material/filter_alt: {t('filter.asked', filter=filter_text(documents))}")


def filter_text(documents: DocumentFilter) -> str:
    """Return a filter in the words of the pages."""
    parts = [
        f"{t(f'filter.{name}')}: {', '.join(getattr(documents, name))}" for name in _LISTS if getattr(documents, name)
    ]
    days = [f"{t(f'filter.{name}').lower()} {day(iso)}" for name in _DAYS if (iso := getattr(documents, name))]
    if days:
        parts.append(f"{t(f'filter.dated.{documents.dated}')} {' '.join(days)}")
    return " · ".join(parts)


def _chosen(kbs: Sequence[KbRecord]) -> DocumentFilter:
    state = st.session_state
    folders, tags, paths = (tuple(sorted(state.get(_key(kbs, name)) or ())) for name in _LISTS)
    since, until = (found.isoformat() if (found := state.get(_key(kbs, name))) else "" for name in _DAYS)
    return DocumentFilter(folders, tags, paths, since, until, state.get(_key(kbs, "dated")) or "updated")


def _titles(documents: Sequence[KbDocument]) -> dict[str, str]:
    """Return path -> title; the path where there is none of its own: two equal ones could not be told apart."""
    counts = Counter({one.path: one.title for one in documents}.values())
    return {one.path: one.title if one.title and counts[one.title] == 1 else one.path for one in documents}


def _folders(folder: str) -> list[str]:
    """Return a folder and those that it is in."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[: at + 1]) for at in range(len(parts))]


def _key(kbs: Sequence[KbRecord], name: str) -> str:
    # Another key for another conversation: a widget in a closed box does not hear of a value that the page sets.
    begun = st.session_state.get(FILTERS_BEGUN, 0)
    return f"filter-{name}-{'+'.join(sorted(kb.kb_id for kb in kbs))}" + (f"-{begun}" if begun else "")


def _reset(kbs: Sequence[KbRecord]) -> None:
    for name in _LISTS:
        st.session_state[_key(kbs, name)] = []
    for name in (*_DAYS, "dated"):
        st.session_state[_key(kbs, name)] = None
