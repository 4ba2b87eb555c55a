"""Every error says what failed, on which id, and ends with the exit code of its kind."""

from __future__ import annotations

import ast
import pickle
import re
import string
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from chatbot_mvp import errors
from chatbot_mvp.errors import ChatbotError, UploadError, all_errors
from chatbot_mvp.settings.model import PROJECT_ROOT

for _path in (PROJECT_ROOT / "chatbot_mvp" / "wings").glob("*/errors.py"):
    import_module(f"chatbot_mvp.wings.{_path.parent.name}.errors")

ERRORS = {code: cls for code, cls in all_errors().items() if cls.__module__.startswith("chatbot_mvp.")}
CLASSES = {cls.__name__: cls for leaf in ERRORS.values() for cls in leaf.__mro__ if issubclass(cls, ChatbotError)}

EXIT_CODES = {
    "ConfigurationError": 2,
    "DatasetError": 2,
    "UploadError": 2,
    "KbNotFound": 2,
    "KbChangeError": 2,
    "KbUnreadable": 1,
    "KbNotWritten": 1,
    "KbPurgeUnfinished": 1,
    "KbPassageChanged": 2,
    "ReaderFailed": 1,
    "ReaderUnfenced": 1,
}
EXIT_CODES |= {"KbNotWritten": 1, "ConversationNotFound": 2, "ProviderError": 1, "ProviderNotConfigured": 2}
EXIT_CODES |= {"DatasetNotReceived": 1, "StorageError": 1, "StorageRefused": 2}
EXIT_CODES |= {"CacheUnusable": 1, "RunError": 1, "RunNotFound": 2, "NotComparable": 2, "ImportRefused": 2}
EXIT_CODES |= {"GateError": 2, "TuneError": 2, "TuneStoppedEarly": 1, "SharingError": 2, "NothingScored": 5}
EXIT_CODES |= {"EffectsError": 2, "EffectsStoppedEarly": 1}
EXIT_CODES |= {"AddressUnavailable": 1, "FileError": 1, "DataFolderError": 1}
EXIT_CODES |= {"DataFolderUnusable": 2, "DataFolderNotEmpty": 2}
EXIT_CODES |= {"LimitError": 1, "RunStopped": 130, "NothingToEvaluate": 2, "SignInError": 1, "KbEvaluationError": 2}
"""As the tree in the module's docstring states them; the nearest ancestor in it counts."""

by_code = pytest.mark.parametrize("code", ERRORS)


def placeholders(code: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(ERRORS[code].texts[code]) if name}


@by_code
def test_the_text_holds_every_value_and_the_values_stay_with_the_error(code: str) -> None:
    values = {name: f"<{name}>" for name in placeholders(code)}
    error = ERRORS[code](code, **values)
    assert values, "an error names what it is about"
    assert [value for value in values.values() if value not in str(error)] == []
    assert "{" not in str(error)
    assert (error.code, error.params) == (code, values)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code, str(again), again.params) == (type(error), code, str(error), values)


@by_code
def test_an_error_with_a_value_left_out_cannot_be_made(code: str) -> None:
    with pytest.raises(KeyError):
        ERRORS[code](code)


@by_code
def test_the_exit_code_is_that_of_the_tree(code: str) -> None:
    known = next(base.__name__ for base in ERRORS[code].__mro__ if base.__name__ in EXIT_CODES)
    assert ERRORS[code].exit_code == EXIT_CODES[known]


def test_codes_are_unique() -> None:
    codes = [code for cls in CLASSES.values() for code in vars(cls).get("texts", ())]
    assert sorted(codes) == list(ERRORS)


def test_a_code_that_the_class_has_not_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(LookupError, match="UploadError has no text 'run_busy'; it has: upload_empty, upload_binary, "):
        UploadError("run_busy", name="a.txt")
    with pytest.raises(LookupError, match="UploadError has no text ''; it has: upload_empty"):
        UploadError(name="a.txt")
    with pytest.raises(LookupError, match="ChatbotError has no text 'x'; it has: none"):
        ChatbotError("x")


def made() -> Iterator[tuple[str, type[ChatbotError], ast.Call]]:
    """(place, class, call) of all errors that the source makes."""
    for path in (path for top in ("chatbot_mvp", "streamlit_app", "benchmarks") for path in Path(top).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CLASSES:
                yield f"{path}:{node.lineno}", CLASSES[node.func.id], node


def codes_of(cls: type[ChatbotError], call: ast.Call) -> list[str]:
    """The codes that a call may name: written out, one of two by a condition, or the only one of the class."""
    if not call.args:
        return list(cls.texts) if len(cls.texts) == 1 else [""]
    [given] = call.args
    choices = [given.body, given.orelse] if isinstance(given, ast.IfExp) else [given]
    return [choice.value if isinstance(choice, ast.Constant) else ast.unparse(choice) for choice in choices]


def test_every_error_that_the_source_makes_has_a_code_of_its_class_and_the_values_of_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(PROJECT_ROOT)
    raised, wrong = set(), []
    for place, cls, call in made():
        given = {keyword.arg for keyword in call.keywords}
        for code in codes_of(cls, call):
            raised.add(code)
            if code not in cls.texts:
                wrong.append(f"{place}: {cls.__name__} has no text {code!r}")
            elif None in given and given - {None} <= placeholders(code):
                continue  # with **values, whose names are known when it is made
            elif given != placeholders(code):
                wrong.append(f"{place}: {code} needs {sorted(placeholders(code))}")
    assert wrong == []
    assert ERRORS.keys() - raised == set(), "texts that nothing raises"


def test_the_tree_in_the_docstring_names_every_class() -> None:
    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+\b", errors.__doc__ or ""))
    assert {name for name in CLASSES if name in vars(errors)} - drawn == set()


@by_code
def test_the_hint_is_the_next_step_without_what_failed(code: str) -> None:
    """A value with a full stop in it does not move the border between the two."""
    error = ERRORS[code](code, **{name: f"{name}. And more" for name in placeholders(code)})
    assert str(error).endswith(error.hint)
    # The reason of a failed pilot is a sentence of its own, after which its text goes on.
    assert error.hint[:1].isupper() or code == "pilot_failed"
    assert len(error.hint) < len(str(error))
