"""The catalogues: same keys, same placeholders, nothing missing, nothing left over."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from string import Formatter

import pytest

from chatbot_mvp.api import RUN_PARAMETERS
from chatbot_mvp.llm.registry import PROVIDERS
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.runs.causes import Cause
from chatbot_mvp.settings.model import Settings
from streamlit_app.shared.i18n import LANGUAGE_NAMES, bare, catalogue, number, t
from streamlit_app.shared.metrics import dollars, metric_help, metric_label, round_dollars
from tests.test_errors import ERRORS

ROOT = Path(__file__).resolve().parents[2] / "streamlit_app"


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def used_keys() -> tuple[set[str], set[str]]:
    """(keys written out in a call of t or bare, prefixes of those that are put together)."""
    literal, prefixes = set(), set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "word":
                prefixes.add(f"{ast.literal_eval(node.args[0])}.")
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Section":
                literal |= {ast.literal_eval(node.args[1])} - {""}
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("t", "t_or", "bare") and node.args:
                key = node.args[0]
                if isinstance(key, ast.Constant):
                    literal.add(key.value)
                elif isinstance(key, ast.JoinedStr):
                    assert isinstance(key.values[0], ast.Constant), ast.unparse(node)
                    prefixes.add(key.values[0].value)
                else:  # a conditional between two written-out keys
                    literal.update(
                        part.value
                        for part in ast.walk(key)
                        if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    )
    return literal, prefixes


def test_catalogues_have_the_same_keys_and_placeholders() -> None:
    first, *others = LANGUAGE_NAMES
    for other in others:
        assert catalogue(first).keys() == catalogue(other).keys()
        for key, text in catalogue(first).items():
            assert placeholders(text) == placeholders(catalogue(other)[key]), key


def test_no_english_of_the_core_stands_in_a_catalogue_again() -> None:
    """A text of an error is there only in other words for pages, which have no options of commands."""
    for path in (ROOT / "i18n" / "en.json", *ROOT.glob("wings/*/en.json")):
        for key, text in json.loads(path.read_text("utf-8")).items():
            group, _, name = key.rpartition(".")
            assert group != "admin.setting" or name not in Settings.model_fields, key
            if group == "error":
                assert re.sub(r"[“”]|!r", "", text) != re.sub(r"!r", "", ERRORS[name].texts[name]), key


@pytest.mark.parametrize("language", list(LANGUAGE_NAMES))
def test_every_key_in_use_exists(language: str) -> None:
    literal, prefixes = used_keys()
    keys = catalogue(language).keys()
    assert literal <= keys, literal - keys
    for prefix in prefixes:
        assert any(key.startswith(prefix) for key in keys), prefix


def test_no_key_is_left_over() -> None:
    literal, prefixes = used_keys()
    unused = {key for key in catalogue("es") if key not in literal and not key.startswith(tuple(prefixes))}
    assert not unused
    labels = {key.removeprefix("admin.label.") for key in catalogue("es") if key.startswith("admin.label.")}
    assert labels == {name for names in RUN_PARAMETERS.values() for name in names}


@pytest.mark.parametrize("language", list(LANGUAGE_NAMES))
def test_every_error_metric_cause_strategy_and_provider_has_a_text(language: str) -> None:
    """An error's text takes no value that the error does not carry."""
    for code, error in ERRORS.items():
        text = catalogue(language)[f"error.{code}"]
        assert placeholders(text) <= placeholders(error.texts[code]), code
    for metric in METRICS.values():
        assert placeholders(catalogue(language)[f"metric_label.{metric.family}"]) <= {"k"}
        assert catalogue(language)[f"metric_help.{metric.family}"]
    for cause in Cause:
        assert catalogue(language)[f"cause.{cause.value}"]
    for name in STRATEGIES:
        assert catalogue(language)[f"strategy.{name}"]
    for name in PROVIDERS:
        assert catalogue(language)[f"provider.{name}"]


def test_no_text_for_people_stands_in_the_pages() -> None:
    """A sentence in the code would be seen in one language only."""
    prose = re.compile(r"[a-záéíóúñ]{3,} [a-záéíóúñ]{2,} [a-záéíóúñ]{2,}", re.I)
    for path in [*ROOT.glob("*.py"), *ROOT.glob("views/*.py"), *ROOT.glob("ui/*.py")]:
        tree = ast.parse(path.read_text("utf-8"))
        docstrings = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
                assert not prose.search(node.value), f"{path.name}: {node.value!r}"


@pytest.mark.parametrize("language", ["es", "en"])
def test_placeholders_are_plain_names(language: str) -> None:
    """A conversion such as ``!r`` would escape the characters that escape Markdown in a value."""
    changed = {key: text for key, text in catalogue(language).items() if re.search(r"\{\w*[!:.\[]", text)}
    assert changed == {}


@pytest.mark.parametrize("language", ["es", "en"])
def test_no_text_lets_the_markdown_of_a_value_live(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit_app.shared.i18n.current_language", lambda: language)
    foreign = "![x](http://c.example/a)"
    for key, text in catalogue(language).items():
        names = re.findall(r"\{(\w+)\}", text)
        if names:
            shown = t(key, **dict.fromkeys(names, foreign))
            assert "![" not in re.sub(r"\\.", "", shown), key
            assert not re.search(r"`\{\w+\}`", text), f"{key}: a value between backticks would show its escapes"


@pytest.mark.parametrize("language", list(LANGUAGE_NAMES))
def test_a_text_of_two_numbers_takes_the_one_of_its_count(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit_app.shared.i18n.current_language", lambda: language)
    texts = {key: text.split(" | ") for key, text in catalogue(language).items() if " | " in text}
    assert len(texts) > 30
    for key, (one, several) in texts.items():
        others = dict.fromkeys(placeholders(one) | placeholders(several), "x")
        assert bare(key, **{**others, "count": 1}) == one.format(**{**others, "count": 1})
        assert bare(key, **{**others, "count": "2"}) == several.format(**{**others, "count": 2})


def test_texts_of_one_thing_speak_of_one() -> None:
    assert bare("mykb.filter_count", count=number(1), total=number(10)) == "Se muestra 1 de 10 preguntas."
    assert bare("runs.found", count=number(1), total=number(10)) == "Se muestra 1 de 10 ejecuciones"
    assert bare("kbdoc.count", count=number(1), total=number(10)) == "Se muestra 1 de 10 documentos."
    assert metric_help("hit@1").endswith("en primer lugar") and metric_help("hit@3").endswith("los 3 primeros")
    assert bare("chat.placeholder", count=1) != bare("chat.placeholder", count=3)
    for name in METRICS:
        assert " 1 primeros" not in metric_label(name) + metric_help(name)


def test_what_costs_nothing_has_no_figure() -> None:
    assert round_dollars(0.0) == dollars(0.0) == "Sin coste"
    assert (dollars(0.0123), dollars(2.5), round_dollars(2.5)) == ("0,0123 USD", "2,50 USD", "2,50 USD")


ONLY_COMMANDS = {
    "error.address_unavailable",  # the pages cannot be open
    "error.baseline_content_differs",  # baselines are compared by the command alone
    "error.baseline_questions_differ",
    "error.baseline_unreadable",
    "error.data_folder_not_empty",  # a backup is restored while no page is served
    "error.export_not_written",  # pages offer a download, they write to no folder
    "error.gate_source_missing",
    "error.kb_sync_removes_most",  # folders are synchronised by command and HTTP
    "error.reader_failed",  # an installation is repaired on its machine
    "error.ray_unreachable",  # a cluster is started from its machines
}
"""Errors whose next step no page can offer."""


@pytest.mark.parametrize("language", list(LANGUAGE_NAMES))
def test_an_error_on_a_page_says_what_to_do_there(language: str) -> None:
    """Its text names no command and no option of one, unless no page can do it."""
    command = re.compile(r"chatbot-mvp [a-z]|python -m|`|(?<![\w-])--[a-z]")
    texts = {key: text for key, text in catalogue(language).items() if key.startswith("error.")}
    assert len(texts) > 3
    assert {key for key, text in texts.items() if command.search(text)} <= ONLY_COMMANDS
