"""The error tree. Every error says what failed, on which id, what was legal, and the next step.

An error is a code and a text in the table ``texts`` of its family, as in ``UploadError("upload_empty", name=name)``. A
class of its own has what code catches by name, or what ends a command with another exit code.

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

# ruff: noqa: F403 - each module holds errors only, and all of them are public
from chatbot_mvp.errors.base import *
from chatbot_mvp.errors.chat import *
from chatbot_mvp.errors.configuration import *
from chatbot_mvp.errors.datasets import *
from chatbot_mvp.errors.documents import *
from chatbot_mvp.errors.files import *
from chatbot_mvp.errors.providers import *
from chatbot_mvp.errors.runs import *
