"""The settings as lists, one per group."""

from __future__ import annotations

from chatbot_mvp.settings.forms import CHANGEABLE, SettingForm, form_of
from chatbot_mvp.settings.kinds import GROUPS
from chatbot_mvp.settings.model import Settings
from docs.generator.markdown import ROOT, catalogue, code


def _legal(form: SettingForm) -> str:
    if form.kind == "switch":
        return ""
    if form.choices:
        return ", ".join(choice or "empty" for choice in form.choices)
    if form.low is None and form.high is None:
        return "secret" if form.kind == "secret" else ""
    if form.high is None:
        return f"≥{form.low:,g}"
    return f"{form.low:,g}–{form.high:,g}"


def _default(form: SettingForm) -> str:
    if form.kind == "secret":
        return ""
    if isinstance(form.default, bool):
        return code(str(form.default).lower())
    return code(str(form.default).removeprefix(f"{ROOT}/"))


def _settings(language: str) -> str:
    """A list per group: name, default, legal values in brackets and a star where Admin can change it, meaning."""
    texts = catalogue(language)
    parts = []
    for group in GROUPS:
        rows = []
        for name, field in Settings.model_fields.items():
            form = form_of(name)
            if form.group != group:
                continue
            said = [code(form.variable)]
            if language == "en":  # the Spanish page leaves defaults and legal values to the English one
                said += [_default(form), f"({legal})" if (legal := _legal(form)) else ""]
            said.append("★" if name in CHANGEABLE else "")
            meaning = field.description if language == "en" else texts[f"admin.setting.{name}"]
            rows.append(f"- {' '.join(filter(None, said))}: {meaning}")
        parts.append("\n".join((f"### {texts[f'admin.group.{group}']}", "", *rows)))
    return "\n\n".join(parts)


def settings() -> str:
    return _settings("en")


def settings_spanish() -> str:
    return _settings("es")
