"""Shows the full configuration of a run by groups, with changed settings marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import RunResult, RunSetting
from streamlit_app.shared.i18n import code, number, plain, t, t_or
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import draw_table


@st.fragment
@errors_shown()
def show_configuration(result: RunResult) -> None:
    """Show fingerprint and versions, then every setting next to its default. Secrets are not recorded."""
    run_id = result.run_id
    manifest, groups = get_app().details.manifest(run_id), get_app().details.configuration(run_id)
    changed = sum(row.changed for rows in groups.values() for row in rows)
    st.caption(t("detail.fingerprint_help"))
    facts = {
        t("detail.fingerprint"): manifest.fingerprint,
        t("detail.code_version"): manifest.code_version,
        t("detail.group.data"): manifest.dataset_sha256[:16],
        t("detail.kb_version"): str(manifest.evaluation.get("kb_version") or ""),
        t("detail.prompts"): manifest.prompts,
        t("detail.generator_fingerprint"): manifest.generator_fingerprint,
        t("detail.judge_fingerprint"): manifest.judge_fingerprint,
    }
    st.markdown(" · ".join(f"{plain(name)}: {code(value)}" for name, value in facts.items() if value))
    only = st.toggle(t("detail.only_changed", count=number(changed)), value=changed > 0, key=f"changed-{run_id}")
    for group, rows in groups.items():
        shown = [row for row in rows if row.changed or not only]
        if shown:
            st.markdown(f"**{t(f'detail.group.{group}')}**")
            _show_group(shown)


def _show_group(rows: Sequence[RunSetting]) -> None:
    draw_table(
        [
            {
                t("compare.col.setting"): setting_label(row.name),
                t("eval.value"): value_text(row.value),
                t("detail.as_default"): value_text(row.default),
                t("providers.col.state"): t("detail.changed" if row.changed else "detail.as_default"),
                t("compare.col.name"): row.name.upper(),
            }
            for row in rows
        ]
    )


def setting_label(name: str) -> str:
    """Return what people call a setting: its label, else the first words of its description, else its name."""
    if label := t_or(f"admin.label.{name}", "") or t_or(f"detail.{name}", ""):
        return label
    about = re.split(r"[.;:(]", t_or(f"admin.setting.{name}", "").replace("`", ""), maxsplit=1)[0].strip()
    return about or name.upper()


def value_text(value: object) -> str:
    """Format a setting's value in the session's language; a dash for None or an empty value."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return t("compare.yes" if value else "compare.no")
    if isinstance(value, float):
        # As many decimals as needed, up to six: 0.5, not 0.500.
        return number(value, min(6, len(f"{value:.6f}".rstrip("0").partition(".")[2])))
    if isinstance(value, int):
        return number(value)
    return str(value)
