"""The error tree. Every error says what failed, on which id, what was legal, and the next step.

An error is a code of a class, as in ``UploadError("upload_empty", name=name)``. Its text stands under both in the JSON
file of the module's name beside it. A class of its own has what code catches by name, or another exit code.

    ChatbotError                    (exit code 1, unless a class below says otherwise)
    ├── ConfigurationError          a setting or an argument is wrong             (exit code 2)
    │   ├── InvalidSetting, with ConfigFileError
    │   ├── UnknownChoice, MissingPackage, NeedsLanguageModel, EmbedderFileMissing
    │   └── FilterError             a filter of documents that cannot be used
    ├── DatasetError                a data set cannot be used as it is            (exit code 2)
    │   ├── EmptyDataset
    │   └── DatasetNotReceived      from the public hub or a place that is added  (exit code 1)
    ├── StorageError                S3 or MinIO
    │   ├── StorageRefused          settings, key or server have to be changed    (exit code 2)
    │   ├── StorageUnreachable, with StorageUnavailable: an error of its own, 5xx
    │   └── StorageFailed, with StorageChanged, StorageDamaged, StorageFull
    ├── UploadError, with UploadScanned: a file for a knowledge base              (exit code 2)
    ├── ReaderFailed                a reader of documents cannot work here
    ├── ReaderUnfenced              a fence around the readers of files does not hold
    ├── KbNotFound, KbPassageChanged, ConversationNotFound                        (exit code 2)
    ├── KbChangeError               a change to documents that cannot be made     (exit code 2)
    ├── KbUnreadable, KbNotWritten, KbPurgeUnfinished
    ├── KbEvaluationError           evaluation questions or their results         (exit code 2)
    │   └── QuestionSetNotFound, QuestionSetChanged, KbResultNotFound
    ├── RunError                    a benchmark run
    │   ├── RunNotFound                                                           (exit code 2)
    │   ├── NothingScored           or nothing that could be                      (exit code 5)
    │   ├── ImportRefused           a run from another machine or program         (exit code 2)
    │   ├── NotComparable           runs that cannot be compared                  (exit code 2)
    │   └── RunUnreadable, NothingToExport, RunProviderLeft
    ├── ProviderError               a provider could not serve a request
    │   ├── ProviderNotConfigured                                                 (exit code 2)
    │   ├── ProviderBadRequest, ProviderPromptTooLong, ProviderRateLimited, ProviderReplyUnusable, ProviderUnavailable
    │   ├── ProviderQuotaExhausted, ProviderLeft, RequestStopped
    │   └── LocalModelError         a model for this machine
    ├── LimitError                  more than one visitor, or the server, may have
    ├── SignInError                 signing in to Admin failed, or is needed
    ├── DataFolderError             the data folder as a whole
    │   ├── DataFolderUnusable                                                    (exit code 2)
    │   └── DataFolderInUse
    ├── FileError, with FileNotWritten, FileOfLaterVersion: a file of the data folder
    ├── AddressUnavailable          for `serve` to listen on
    ├── CacheUnusable               a cache of vectors or contexts on disk
    └── RunStopped                  the user stopped it; not a failure            (exit code 130)

An error carries its values in ``params`` and a stable ``code``, so that a page can show it in the reader's language:
the catalogue of each other language holds one text per code, with the same placeholders.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar


@cache
def _texts_beside(module: str) -> Mapping[str, Mapping[str, str]]:
    path = Path(getattr(sys.modules.get(module), "__file__", None) or module).with_suffix(".json")
    found: dict[str, dict[str, str]] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found


class ChatbotError(Exception):
    """Base of all errors that a user can act on. ``str(error)`` is the English text.

    Args:
        code: key of ``texts``. It may be left out if the class has one text only.
        params: values of the text's placeholders.

    Raises:
        LookupError: the class has no text with this code.
        KeyError: the text has a placeholder without a value.
    """

    texts: ClassVar[Mapping[str, str]] = {}
    """Code -> English text, of what is raised as this very class. Codes are unique among all classes, and stay."""
    exit_code: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        cls.texts = vars(cls).get("texts") or _texts_beside(cls.__module__).get(cls.__name__, {})

    def __init__(self, code: str = "", /, **params: object) -> None:
        if not code and len(self.texts) == 1:
            [code] = self.texts
        if code not in self.texts:
            raise LookupError(f"{type(self).__name__} has no text {code!r}; it has: {', '.join(self.texts) or 'none'}")
        self.code = code
        self.params = params
        super().__init__(self.texts[code].format(**params))

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies and pickles by the arguments: a worker's error crosses to another process."""
        return partial(type(self), self.code, **self.params), ()

    @property
    def hint(self) -> str:
        """The next step: the text after its first sentence, or "" if it has one sentence only."""
        # The template is divided, not the text: a value in it may contain the end of a sentence.
        return self.texts[self.code].partition(". ")[2].format(**self.params)


def all_errors() -> dict[str, type[ChatbotError]]:
    """Return code -> the class that has its text, sorted by code."""
    found: dict[str, type[ChatbotError]] = {}
    pending: list[type[ChatbotError]] = [ChatbotError]
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        found |= dict.fromkeys(vars(cls).get("texts", ()), cls)
    return dict(sorted(found.items()))


class LimitError(ChatbotError):
    """One visitor, or all together, would have more than the server allows. Nothing was started, and nothing lost."""


class ConfigurationError(ChatbotError):
    exit_code = 2


class InvalidSetting(ConfigurationError):
    pass


class UnknownChoice(ConfigurationError):
    pass


class MissingPackage(ConfigurationError):
    pass


class NeedsLanguageModel(ConfigurationError):
    pass


class ConfigFileError(InvalidSetting):
    """A configuration file, or what it holds."""


class EmbedderFileMissing(ConfigurationError):
    pass


class SignInError(ChatbotError):
    """Signing in to Admin failed."""


class CacheUnusable(ChatbotError):
    pass


class AddressUnavailable(ChatbotError):
    pass


class DatasetError(ChatbotError):
    exit_code = 2


class EmptyDataset(DatasetError):
    pass


class DatasetNotReceived(DatasetError):
    """A place that data sets come from gave none."""

    exit_code = 1


class StorageError(ChatbotError):
    """The S3 server of the data sets could not serve a request."""


class StorageRefused(StorageError):
    """No request is answered until the settings, the key or the server have been changed."""

    exit_code = 2


class StorageUnreachable(StorageError):
    pass


class StorageUnavailable(StorageUnreachable):
    pass


class StorageFailed(StorageError):
    pass


class StorageChanged(StorageFailed):
    """An object is not in the version that the request named."""


class StorageDamaged(StorageFailed):
    """The content of an object is not what was sent."""


class StorageFull(StorageFailed):
    pass


class UploadError(ChatbotError):
    exit_code = 2


class UploadScanned(UploadError):
    pass


class ReaderFailed(ChatbotError):
    """A reader of documents cannot work on this machine; no file is at fault."""


class ReaderUnfenced(ChatbotError):
    """A fence around the readers of uploaded files does not hold."""


class KbNotFound(ChatbotError):
    exit_code = 2


class KbPassageChanged(ChatbotError):
    exit_code = 2


class KbUnreadable(ChatbotError):
    pass


class KbNotWritten(ChatbotError):
    pass


class KbChangeError(ChatbotError):
    """A change to the documents of a knowledge base that cannot be made, or something of them that is not there;
    nothing has changed."""

    exit_code = 2


class KbPurgeUnfinished(ChatbotError):
    pass


class FilterError(ConfigurationError):
    """A question limited to some documents that cannot be asked."""

    exit_code = 2


class ConversationNotFound(ChatbotError):
    exit_code = 2


class KbEvaluationError(ChatbotError):
    """Error in the evaluation questions of a knowledge base, or in their results."""

    exit_code = 2


class QuestionSetNotFound(KbEvaluationError):
    pass


class QuestionSetChanged(KbEvaluationError):
    pass


class KbResultNotFound(KbEvaluationError):
    pass


class FileError(ChatbotError):
    """A file of the data folder cannot be read or written."""


class FileNotWritten(FileError):
    pass


class FileOfLaterVersion(FileError):
    pass


class DataFolderError(ChatbotError):
    """The data folder, or something of it as a whole, cannot be used."""


class DataFolderUnusable(DataFolderError):
    exit_code = 2


class DataFolderInUse(DataFolderError):
    pass


class ProviderError(ChatbotError):
    """A provider of answers, vectors or rankings could not serve a request."""


class ProviderNotConfigured(ProviderError):
    exit_code = 2


class ProviderBadRequest(ProviderError):
    pass


class ProviderPromptTooLong(ProviderError):
    pass


class ProviderRateLimited(ProviderError):
    pass


class ProviderQuotaExhausted(ProviderError):
    pass


class ProviderUnavailable(ProviderError):
    pass


class ProviderReplyUnusable(ProviderError):
    pass


class ProviderLeft(ProviderError):
    pass


class RequestStopped(ProviderError):
    pass


class LocalModelError(ProviderError):
    """A model for this machine could not be found, downloaded or removed."""


class RunError(ChatbotError):
    pass


class RunNotFound(RunError):
    exit_code = 2


class RunUnreadable(RunError):
    pass


class NothingScored(RunError):
    exit_code = 5


class ImportRefused(RunError):
    exit_code = 2


class NothingToExport(RunError):
    pass


class NotComparable(RunError):
    """The runs cannot be compared: a difference would not be caused by their configurations alone."""

    exit_code = 2


class RunProviderLeft(RunError):
    pass


class RunStopped(ChatbotError):
    exit_code = 130
