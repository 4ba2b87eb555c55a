"""One query of a run: its answer against the reference, the path of each gold document, the judge's scores."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import streamlit as st

from chatbot_mvp.api import (
    GENERATE,
    JUDGE,
    METRICS,
    RETRIEVE,
    Generated,
    GoldPath,
    Judged,
    QueryRecord,
    QueryRow,
    Retrieved,
    RunResult,
    Spent,
    WordPart,
    answer_difference,
    generated_of,
    judged_of,
    retrieved_of,
)
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.types import Document
from streamlit_app.shared.i18n import bare, duration_text, number, plain, score, t, word
from streamlit_app.shared.jobs import phase_name
from streamlit_app.shared.metrics import metric_label
from streamlit_app.shared.state import get_app, show_error
from streamlit_app.shared.tables import draw_table

_SHOWN_OF_ANSWER = [name for name, spec in METRICS.items() if spec.section in ("answers", "judge")]
_SHOWN_AT_FIRST = 8  # documents of a ranking, before the user asks for all
_COLOURS = {"in_context": "green", "left_out": "orange", "below_cut": "orange", "lost_in_reranking": "orange"}

# Distinguished by underline as well as colour: solid for words only in the answer, dotted for missing words.
_STYLE = """<style>
.worddiff {line-height: 1.7; overflow-wrap: anywhere; white-space: pre-wrap;}
.worddiff mark {background: #fde68a; color: #1c1f1e; border-radius: 3px; padding: 0 3px;
  text-decoration: underline; text-decoration-thickness: 2px; text-underline-offset: 3px;}
.worddiff mark.lacking {text-decoration-style: dotted;}
</style>"""


def show_query(result: RunResult, row: QueryRow) -> None:
    """Draw everything that a benchmark run recorded of one query."""
    with st.container(border=True):
        for turn in row.history:
            st.caption(f"{t('detail.asked_before')} {plain(turn.question)}  \n{plain(turn.answer)}")
        st.markdown(f"**{t('eval.col.question')}:** {plain(row.question)}")
        st.caption(" · ".join(_facts(row)))
        if row.cause:
            st.markdown(f"**{t('causes.cause')}:** {plain(word('cause', row.cause))}")
        if result.generator:
            _show_answer(row)
        elif row.answer:
            st.markdown(f"**{t('eval.answer')}:** {plain(row.answer)}")
        documents = _documents(result, row)
        retrieved, gold = st.columns([3, 2], gap="large")
        with gold:
            _show_gold(result, row, documents)
        with retrieved:
            _show_retrieved(row, documents)
        _show_trace(result, row)


def _facts(row: QueryRow) -> list[str]:
    kind = word("mykb.kind", row.question_type)
    facts = [row.query_id, *(value for value in (kind, row.answer_type, row.level) if value)]
    if row.evidence is not None and "solved" not in row.metrics:  # else what the chat says decides
        facts.append(f"{t('detail.evidence')}: {number(row.evidence, 3)}")
    return [plain(fact) for fact in facts]


def _documents(result: RunResult, row: QueryRow) -> dict[str, Document]:
    try:
        return get_app().archive.documents(result.run_id, [*row.retrieved, *row.gold])
    except ChatbotError:
        st.caption(t("eval.texts_gone"))
        return {}


def _show_answer(row: QueryRow) -> None:
    """Draw the answer next to the reference, with its scores and the judge's."""
    expected, given = st.columns(2, gap="large")
    if row.response is None:
        expected.markdown(f"**{t('eval.answer')}:** {plain(row.answer)}")
        given.markdown(f"**{t('eval.col.response')}:** :red-badge[{t('eval.not_answered')}]")
        given.caption(plain(row.error or ""))
        return
    mark = f" :orange-badge[{t('eval.abstained')}]" if row.abstained else ""
    # No word comparison for "I don't know": it shares no words with a reference.
    compared = bool(row.answer) and not row.abstained
    reference, answer = answer_difference(row) if compared else ((), ())
    with expected:
        st.markdown(f"**{t('eval.answer')}**")
        st.html(_STYLE + _marked(reference, lacking=True) if compared else _unmarked(row.answer or "–"))
    with given:
        st.markdown(f"**{t('eval.col.response')}**{mark}")
        st.html(_STYLE + _marked(answer, lacking=False) if compared else _unmarked(row.response))
    if compared:
        same = all(part.shared for part in (*reference, *answer))
        st.caption(t("detail.same_words" if same else "detail.word_legend"))
    names = [name for name in _SHOWN_OF_ANSWER if name in row.metrics]
    st.caption(" · ".join(f"{plain(metric_label(name))}: {score(row.metrics[name])}" for name in names))
    for name, reason in (row.judge_reasons or {}).items():
        st.markdown(f"> **{plain(metric_label(name))}**, {t('eval.judge_says')}: {plain(' '.join(reason.split()))}")


def _marked(parts: Sequence[WordPart], lacking: bool) -> str:
    """Return a text as HTML, marking words that the other text does not have; ``lacking`` is True for the reference."""
    label = html.escape(t("detail.lacking" if lacking else "detail.added"), quote=True)
    kind = "lacking" if lacking else "added"
    pieces = []
    for part in parts:
        words = part.text.lstrip()
        blank, shown = part.text[: len(part.text) - len(words)], html.escape(words)
        pieces.append(blank + (shown if part.shared else f'<mark class="{kind}" title="{label}">{shown}</mark>'))
    return f'<div class="worddiff">{"".join(pieces)}</div>'


def _unmarked(text: str) -> str:
    return f'{_STYLE}<div class="worddiff">{html.escape(text)}</div>'


def _show_retrieved(row: QueryRow, documents: Mapping[str, Document]) -> None:
    st.markdown(f"**{t('eval.retrieved')}**")
    every = len(row.retrieved) <= _SHOWN_AT_FIRST or st.toggle(
        t("detail.all_retrieved", count=number(len(row.retrieved))), key="detail-all-retrieved"
    )
    shown = row.retrieved if every else row.retrieved[:_SHOWN_AT_FIRST]
    for rank, doc_id in enumerate(shown, 1):
        hit = doc_id in row.gold
        mark = ":green[:material/check_circle:]" if hit else ":gray[:material/remove:]"
        read = f" :blue-badge[{t('eval.in_context')}]" if doc_id in (row.generation_doc_ids or ()) else ""
        with st.expander(f"{mark} {number(rank)}. {_title(documents, doc_id)}{read}"):
            st.text(documents[doc_id].text if doc_id in documents else doc_id)


def _show_gold(result: RunResult, row: QueryRow, documents: Mapping[str, Document]) -> None:
    st.markdown(f"**{t('eval.gold')}**")
    try:
        paths = get_app().details.gold_paths(result.run_id, row)
    except ChatbotError:
        paths = []
    for path in paths:
        colour = _COLOURS.get(path.fate.value, "red")
        st.markdown(f"{_title(documents, path.doc_id)}  \n:{colour}-badge[{t(f'detail.fate.{path.fate.value}')}]")
        st.caption(_way(path))
        if path.doc_id in documents:
            with st.expander(t("kbdoc.view.text"), icon=":material/article:"):
                st.text(documents[path.doc_id].text)


def _way(path: GoldPath) -> str:
    """Format the ranks by stage: "BM25: 3 → vectores: – → lista conjunta: 5 → contexto: 2"."""
    places = [
        f"{plain(word('detail.stage', stage))}: {t('detail.rank', rank=number(rank)) if rank else t('detail.absent')}"
        for stage, rank in path.ranks.items()
    ]
    return " → ".join(places)


def _show_trace(result: RunResult, row: QueryRow) -> None:
    """Draw what each phase recorded of the query. Read from disk only for the query shown."""
    with st.expander(t("detail.trace"), icon=":material/troubleshoot:"):
        try:
            records = get_app().details.records(result.run_id, row.query_id)
        except ChatbotError:
            records = {}
        if not records:
            st.caption(t("detail.no_trace"))
            return
        for phase, record in records.items():
            st.markdown(f"**{plain(phase_name(phase))}**" + ("" if record.status == "ok" else " :red-badge[✕]"))
            if record.error:
                st.caption(plain(record.error))
            facts = _recorded(record)
            if facts:
                draw_table([{t("debug.name"): name, t("eval.value"): value} for name, value in facts.items()])


def _recorded(record: QueryRecord) -> dict[str, str]:
    """Return name -> value of recorded fields that are not shown above."""
    try:
        if record.phase == RETRIEVE:
            return _of_retrieval(retrieved_of(record))
        if record.phase == GENERATE and record.status == "ok":
            return _of_answer(generated_of(record))
        if record.phase == JUDGE:
            return _of_judgement(judged_of(record))
    except ChatbotError as error:
        show_error(error)
    return {}


def _of_retrieval(found: Retrieved) -> dict[str, str]:
    facts: dict[str, str] = {t("detail.searched"): found.search_query} if found.search_query else {}
    facts |= {word("detail.stage", stage): duration_text(value) for stage, value in found.seconds.items()}
    for stage, depth in found.gold.depths.items():
        facts[bare("detail.depth", stage=word("detail.stage", stage))] = number(depth)
    if found.evidence is not None:
        facts[t("detail.evidence")] = number(found.evidence, 3)
    if found.scores:
        facts[t("detail.scores")] = " · ".join(number(value, 3) for value in found.scores[:10])
    if found.rerank_error:
        facts[t("detail.recorded.rerank_error")] = found.rerank_error
    return facts


def _of_answer(found: Generated) -> dict[str, str]:
    facts: dict[str, str] = {}
    if found.seconds is not None:
        facts[t("eval.time")] = duration_text(found.seconds)
    if found.model:
        facts[t("runs.col.model")] = found.model
    if found.finish_reason:
        facts[t("detail.recorded.finish_reason")] = found.finish_reason
    return facts | _tokens(found.usage)


def _of_judgement(found: Judged) -> dict[str, str]:
    facts = {t("runs.col.model"): found.model} if found.model else {}
    replies = {bare("detail.raw", metric=metric_label(name)): reply for name, reply in found.raw.items()}
    return facts | _tokens(found.usage) | replies


def _tokens(usage: Spent | None) -> dict[str, str]:
    return {} if usage is None else {t("detail.tokens"): number(usage.tokens)}


def _title(documents: Mapping[str, Document], doc_id: str) -> str:
    return plain(documents[doc_id].title if doc_id in documents and documents[doc_id].title else doc_id)
