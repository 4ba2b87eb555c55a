"""The settings as tables, one per group."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.settings.forms import CHANGEABLE, GROUPS, SettingForm, form_of
from chatbot_mvp.settings.model import Settings
from docs.generator.markdown import ROOT, catalogue, code, table


def _legal(form: SettingForm) -> str:
    if form.kind == "switch":
        return "true, false"
    if form.choices:
        return ", ".join(choice or "empty" for choice in form.choices)
    if form.low is None and form.high is None:
        return "secret" if form.kind == "secret" else ""
    if form.high is None:
        return f"{form.low:,g} or more"
    return f"{form.low:,g} to {form.high:,g}"


def _default(form: SettingForm) -> str:
    if form.kind == "secret":
        return ""
    if isinstance(form.default, bool):
        return code(str(form.default).lower())
    return code(str(form.default).removeprefix(f"{ROOT}/"))


def _settings(language: str, head: Sequence[str], changeable: str) -> str:
    texts = catalogue(language)
    parts = []
    for group in GROUPS:
        rows = []
        for name, field in Settings.model_fields.items():
            form = form_of(name)
            if form.group != group:
                continue
            meaning = field.description if language == "en" else texts[f"admin.setting.{name}"]
            legal = _legal(form) if language == "en" else ""
            cells = [code(form.variable), _default(form), legal, changeable if name in CHANGEABLE else "", meaning]
            rows.append(cells if language == "en" else cells[:2] + cells[3:])
        parts.append(f"### {texts[f'admin.group.{group}']}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def settings() -> str:
    return _settings("en", ("variable", "default", "legal values", "Admin", "meaning"), "yes")


def settings_spanish() -> str:
    return _settings("es", ("variable", "valor por defecto", "Administración", "significado"), "sí")
