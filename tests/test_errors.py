"""Every error says what failed, on which id, and ends with the exit code of its kind."""

from __future__ import annotations

import re
import string

import pytest

from chatbot_mvp import errors
from chatbot_mvp.errors import ChatbotError, all_errors

EXIT_CODES = {
    "ConfigurationError": 2,
    "DatasetError": 2,
    "UploadError": 2,
    "KbNotFound": 2,
    "KbUnreadable": 1,
    "KbNotWritten": 1,
}
EXIT_CODES |= {"KbNotWritten": 1, "ConversationNotFound": 2, "ProviderError": 1, "ProviderNotConfigured": 2}
EXIT_CODES |= {"DownloadFailed": 1, "DatasetSourceFailed": 1, "StorageError": 1} | dict.fromkeys(
    (f"Storage{name}" for name in ("NotConfigured", "KeyUnknown", "SecretWrong", "Denied", "BucketMissing")), 2
)
EXIT_CODES |= {"CacheUnusable": 1, "RunError": 1, "RunNotFound": 2, "NotComparable": 2, "ImportRefused": 2}
EXIT_CODES |= {"GateError": 2, "TuneError": 2, "TuneStoppedEarly": 1, "SharingError": 2, "StorageKeyExpired": 2}
EXIT_CODES |= {"NothingToScore": 5, "NothingScored": 5, "AddressUnavailable": 1, "FileError": 1, "DataFolderError": 1}
EXIT_CODES |= {"DataFolderUnusable": 2, "DataFolderNotEmpty": 2, "StorageAddressWrong": 2, "StoragePackageMissing": 2}
EXIT_CODES |= {"LimitError": 1, "RunStopped": 130, "NothingToEvaluate": 2, "SignInError": 1, "KbEvaluationError": 2}
"""As the tree in the module's docstring states them; the nearest ancestor in it counts."""

by_name = pytest.mark.parametrize("cls", all_errors(), ids=lambda cls: cls.__name__)


def placeholders(cls: type[ChatbotError]) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(cls.template) if name}


@by_name
def test_the_text_holds_every_value_and_the_values_stay_with_the_error(cls: type[ChatbotError]) -> None:
    values = {name: f"<{name}>" for name in placeholders(cls)}
    error = cls(**values)
    assert values, "an error names what it is about"
    assert [value for value in values.values() if value not in str(error)] == []
    assert "{" not in str(error)
    assert error.params == values


@by_name
def test_an_error_with_a_value_left_out_cannot_be_made(cls: type[ChatbotError]) -> None:
    with pytest.raises(KeyError):
        cls()


@by_name
def test_the_exit_code_is_that_of_the_tree(cls: type[ChatbotError]) -> None:
    known = next(base.__name__ for base in cls.__mro__ if base.__name__ in EXIT_CODES)
    assert cls.exit_code == EXIT_CODES[known]


def test_codes_are_unique() -> None:
    codes = [cls.code for cls in all_errors()]
    assert len(set(codes)) == len(codes) > 0


def test_the_tree_in_the_docstring_names_every_class() -> None:
    drawn = set(re.findall(r"\b[A-Z][A-Za-z]+\b", errors.__doc__ or ""))
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, ChatbotError)
    }
    assert defined - drawn == set()


@by_name
def test_the_hint_is_the_next_step_without_what_failed(cls: type[ChatbotError]) -> None:
    """A value with a full stop in it does not move the border between the two."""
    error = cls(**{name: f"{name}. And more" for name in placeholders(cls)})
    assert str(error).endswith(error.hint)
    # The reason of a failed pilot is a sentence of its own, after which its text goes on.
    assert error.hint[:1].isupper() or cls.code == "pilot_failed"
    assert len(error.hint) < len(str(error))
