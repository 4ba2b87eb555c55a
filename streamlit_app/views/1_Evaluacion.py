"""Past runs, and one of them in full."""

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from streamlit_app.ui.causes import show_causes
from streamlit_app.ui.comparison import show_comparison
from streamlit_app.ui.configuration import show_configuration
from streamlit_app.ui.i18n import moment, number, score, t
from streamlit_app.ui.metrics import metric_label
from streamlit_app.ui.ragas_result import show_evaluation
from streamlit_app.ui.run_queries import show_queries
from streamlit_app.ui.run_table import show_table
from streamlit_app.ui.runs import RAGAS, run_names, show_bundle, show_curves, show_failures, show_tiles
from streamlit_app.ui.state import PAGES, get_app, show_error

st.title(t("nav.evaluation"))
runs, damaged = get_app().bench.runs()
if damaged:
    st.warning(
        t("eval.damaged", count=number(damaged), path=get_app().settings.submissions_path.name),
        icon=":material/warning:",
    )
if not runs:
    st.info(t("eval.none"), icon=":material/info:")
    if st.button(t("eval.go_admin"), icon=PAGES["admin"][1], type="primary"):
        st.switch_page(PAGES["admin"][0])
    st.stop()

columns = ["recall@5", "ndcg@10", "mrr"]
if any(run.get("generator") for run in runs):
    columns = ["recall@5", "ndcg@10", "generation_score", "faithfulness"]
st.dataframe(
    [
        {
            t("eval.col.when"): moment(str(run.get("started_at", ""))),
            t("eval.col.dataset"): run.get("dataset"),
            t("eval.col.strategy"): run.get("strategy"),
            t("eval.col.queries"): run.get("queries"),
            **{metric_label(name): score(run["metrics"].get(name)) for name in columns},
        }
        for run in runs
    ],
    hide_index=True,
    width="stretch",
)

by_id = {run["run_id"]: run for run in runs}
if st.session_state.get("run_id") not in by_id:
    st.session_state.run_id = runs[0]["run_id"]
names = run_names(runs, ("dataset", "strategy"))
run_id = st.selectbox(
    t("eval.choose"),
    list(by_id),
    index=list(by_id).index(st.session_state.run_id),
    format_func=names.__getitem__,
)
st.session_state.run_id = run_id

try:
    result = get_app().bench.run(run_id)
except ChatbotError as error:
    show_error(error)
    st.stop()

show_failures(result)
if result.get("kind") == RAGAS:
    show_evaluation(result)
else:
    show_tiles(result)
    show_curves(result)
    show_table(result)
    show_causes(result)
    show_configuration(result)
    show_queries(result)
show_comparison(runs, by_id[run_id])

st.subheader(t("eval.files"))
files = st.columns(4)
for column, path in zip(files, get_app().bench.run_files(run_id), strict=False):
    column.download_button(path.name.removeprefix(run_id).lstrip("_."), path.read_bytes(), path.name, width="stretch")
if result.get("kind") != RAGAS:
    with files[-1]:
        show_bundle(run_id)
