"""The error tree. Every error says what failed, on which id, what was legal, and the next step.

    ChatbotError
    ├── ConfigurationError          a setting or an argument is wrong          (exit code 2)
    │   ├── InvalidSetting
    │   ├── UnknownChoice           strategy, provider, embedder, …
    │   ├── MissingPackage
    │   ├── NeedsLanguageModel
    │   ├── PromptsUnreadable       of a judge, in a file of one's own
    │   ├── ChoiceNotKept           of Admin, on disk
    │   └── VectorStoreUnavailable
    ├── DatasetError                a data set cannot be used as it is         (exit code 2)
    │   ├── DatasetNotFound
    │   ├── DatasetChanged          since a run over it
    │   ├── DatasetFileMissing
    │   ├── DatasetFileUnreadable
    │   ├── MissingColumn
    │   ├── DuplicateId
    │   ├── EmptyDataset
    │   ├── UnknownQrelDocument
    │   ├── UnknownQrelQuery
    │   ├── DatasetNameUnusable     for a folder
    │   ├── DatasetNameTaken
    │   ├── DatasetNotOwn           comes with the project or from S3, and is not ours to delete
    │   ├── DatasetUploadError
    │   │   ├── DatasetUploadTooLarge
    │   │   ├── DatasetUploadDamaged
    │   │   ├── DatasetUploadIncomplete
    │   │   ├── DatasetUploadUnsafe     paths that lead elsewhere, links
    │   │   ├── DatasetUploadExpands    a small file that would become a very large one
    │   │   └── DatasetUploadTooDemanding
    │   └── DownloadFailed          from the public hub                        (exit code 1)
    ├── StorageError                S3 or MinIO                                (exit code 1)
    │   ├── StorageNotConfigured                                               (exit code 2)
    │   ├── StorageKeyUnknown                                                  (exit code 2)
    │   ├── StorageSecretWrong                                                 (exit code 2)
    │   ├── StorageDenied           known, but not allowed to                  (exit code 2)
    │   ├── StorageBucketMissing                                               (exit code 2)
    │   ├── StorageUnreachable
    │   └── StorageFailed           any other refusal, or what arrived is not what was asked for
    ├── UploadError                 a file offered as a knowledge base         (exit code 2)
    │   ├── UploadEmpty
    │   ├── UploadBinary
    │   ├── UploadTooLarge
    │   ├── UploadTypeUnsupported
    │   ├── UploadWrongSuffix       the name says one format, the content another
    │   ├── UploadDamaged
    │   ├── UploadEncrypted
    │   ├── UploadScanned           pages that are pictures
    │   ├── UploadTooManyPages
    │   ├── UploadExpands           a small file that would become a very large one
    │   ├── UploadTooSlow
    │   └── UploadNoRoom            the other files have filled the knowledge base
    ├── KbNotFound                                                             (exit code 2)
    ├── ConversationNotFound        of the chat                                (exit code 2)
    ├── KbUnreadable                a stored knowledge base is damaged         (exit code 1)
    ├── KbEvaluationError           questions of a knowledge base              (exit code 2)
    │   ├── QuestionSetNotFound
    │   ├── KbResultNotFound
    │   ├── NoQuestionsKept
    │   ├── NothingProposed
    │   └── ProposalsUnusable       a model's
    ├── RunError                    a benchmark run                            (exit code 1)
    │   ├── RunNotBegun             nothing can be written where it would be
    │   ├── RunNotFound                                                        (exit code 2)
    │   ├── RunUnreadable
    │   ├── RunBusy
    │   ├── RunAlreadyFinished
    │   ├── NothingToEvaluate                                                  (exit code 2)
    │   ├── NothingToRetry
    │   ├── NoteChanged             by somebody else, in the meantime
    │   ├── NoteNotWritten
    │   ├── RunMismatch
    │   ├── RunNotWritten           a full disk, or one that refuses
    │   ├── RunOutOfQuota           it goes on when the provider does
    │   ├── RunOverBudget           it goes on with a larger one
    │   ├── RunGaveUp               the provider failed query after query
    │   ├── BudgetWithoutPrice
    │   ├── PilotFailed             an estimate's trial over a few queries
    │   ├── ExportNotWritten
    │   ├── ImportNotWritten
    │   ├── ImportRefused           a run of another machine or program        (exit code 2)
    │   │   ├── NothingToImport
    │   │   ├── BundleDamaged       a zip of ``benchmark export``
    │   │   ├── BundleUnsafe        its paths or sizes
    │   │   ├── RunExists
    │   │   ├── TrecLineWrong
    │   │   └── TrecIdUnknown       of a query or a document
    │   └── NotComparable           runs that cannot be compared               (exit code 2)
    │       ├── NothingToCompare
    │       ├── CorporaDiffer
    │       └── QuestionsDiffer
    ├── ProviderError               a provider did not do what it was asked    (exit code 1)
    │   ├── ProviderNotConfigured                                              (exit code 2)
    │   ├── ProviderKeyRefused
    │   ├── ProviderModelUnknown
    │   ├── ProviderBadRequest
    │   ├── ProviderPromptTooLong
    │   ├── ProviderRateLimited     after retries
    │   ├── ProviderQuotaExhausted  no retry would help
    │   ├── ProviderUnavailable     time-out, lost connection, 5xx; after retries
    │   └── ProviderReplyUnusable   it answered, but not with an answer
    ├── SignInError                 to Admin                                   (exit code 1)
    │   ├── PasswordWrong
    │   └── PasswordTriesExhausted  too many wrong ones
    ├── CacheUnusable               of vectors or of contexts, on disk         (exit code 1)
    └── RunStopped                  a stop was asked for; not a failure        (exit code 130)

An error carries its values as ``params`` and a stable ``code``, so that a page can say the same thing in the
reader's language: the catalogues hold one text per code, with the same placeholders.
"""

from __future__ import annotations

from chatbot_mvp.errors.base import (
    ChatbotError,
)
from chatbot_mvp.errors.configuration import (
    CacheUnusable,
    ChoiceNotKept,
    ConfigurationError,
    InvalidSetting,
    MissingPackage,
    NeedsLanguageModel,
    PasswordTriesExhausted,
    PasswordWrong,
    PromptsUnreadable,
    SignInError,
    UnknownChoice,
    VectorStoreUnavailable,
)
from chatbot_mvp.errors.datasets import (
    DatasetChanged,
    DatasetError,
    DatasetFileMissing,
    DatasetFileUnreadable,
    DatasetNameTaken,
    DatasetNameUnusable,
    DatasetNotFound,
    DatasetNotOwn,
    DatasetUploadDamaged,
    DatasetUploadError,
    DatasetUploadExpands,
    DatasetUploadIncomplete,
    DatasetUploadTooDemanding,
    DatasetUploadTooLarge,
    DatasetUploadUnsafe,
    DownloadFailed,
    DuplicateId,
    EmptyDataset,
    MissingColumn,
    StorageBucketMissing,
    StorageDenied,
    StorageError,
    StorageFailed,
    StorageKeyUnknown,
    StorageNotConfigured,
    StorageSecretWrong,
    StorageUnreachable,
    UnknownQrelDocument,
    UnknownQrelQuery,
)
from chatbot_mvp.errors.documents import (
    ConversationNotFound,
    KbEvaluationError,
    KbNotFound,
    KbResultNotFound,
    KbUnreadable,
    NoQuestionsKept,
    NothingProposed,
    ProposalsUnusable,
    QuestionSetNotFound,
    UploadBinary,
    UploadDamaged,
    UploadEmpty,
    UploadEncrypted,
    UploadError,
    UploadExpands,
    UploadNoRoom,
    UploadScanned,
    UploadTooLarge,
    UploadTooManyPages,
    UploadTooSlow,
    UploadTypeUnsupported,
    UploadWrongSuffix,
)
from chatbot_mvp.errors.providers import (
    ProviderBadRequest,
    ProviderError,
    ProviderKeyRefused,
    ProviderModelUnknown,
    ProviderNotConfigured,
    ProviderPromptTooLong,
    ProviderQuotaExhausted,
    ProviderRateLimited,
    ProviderReplyUnusable,
    ProviderUnavailable,
)
from chatbot_mvp.errors.runs import (
    BudgetWithoutPrice,
    BundleDamaged,
    BundleUnsafe,
    CorporaDiffer,
    ExportNotWritten,
    ImportNotWritten,
    ImportRefused,
    NotComparable,
    NoteChanged,
    NoteNotWritten,
    NothingToCompare,
    NothingToEvaluate,
    NothingToImport,
    NothingToRetry,
    PilotFailed,
    QuestionsDiffer,
    RunAlreadyFinished,
    RunBusy,
    RunError,
    RunExists,
    RunGaveUp,
    RunMismatch,
    RunNotBegun,
    RunNotFound,
    RunNotWritten,
    RunOutOfQuota,
    RunOverBudget,
    RunStopped,
    RunUnreadable,
    TrecIdUnknown,
    TrecLineWrong,
)

__all__ = [
    "BudgetWithoutPrice",
    "BundleDamaged",
    "BundleUnsafe",
    "CacheUnusable",
    "ChatbotError",
    "ChoiceNotKept",
    "ConfigurationError",
    "ConversationNotFound",
    "CorporaDiffer",
    "DatasetChanged",
    "DatasetError",
    "DatasetFileMissing",
    "DatasetFileUnreadable",
    "DatasetNameTaken",
    "DatasetNameUnusable",
    "DatasetNotFound",
    "DatasetNotOwn",
    "DatasetUploadDamaged",
    "DatasetUploadError",
    "DatasetUploadExpands",
    "DatasetUploadIncomplete",
    "DatasetUploadTooDemanding",
    "DatasetUploadTooLarge",
    "DatasetUploadUnsafe",
    "DownloadFailed",
    "DuplicateId",
    "EmptyDataset",
    "ExportNotWritten",
    "ImportNotWritten",
    "ImportRefused",
    "InvalidSetting",
    "KbEvaluationError",
    "KbNotFound",
    "KbResultNotFound",
    "KbUnreadable",
    "MissingColumn",
    "MissingPackage",
    "NeedsLanguageModel",
    "NoQuestionsKept",
    "NotComparable",
    "NoteChanged",
    "NoteNotWritten",
    "NothingProposed",
    "NothingToCompare",
    "NothingToEvaluate",
    "NothingToImport",
    "NothingToRetry",
    "PasswordTriesExhausted",
    "PasswordWrong",
    "PilotFailed",
    "PromptsUnreadable",
    "ProposalsUnusable",
    "ProviderBadRequest",
    "ProviderError",
    "ProviderKeyRefused",
    "ProviderModelUnknown",
    "ProviderNotConfigured",
    "ProviderPromptTooLong",
    "ProviderQuotaExhausted",
    "ProviderRateLimited",
    "ProviderReplyUnusable",
    "ProviderUnavailable",
    "QuestionSetNotFound",
    "QuestionsDiffer",
    "RunAlreadyFinished",
    "RunBusy",
    "RunError",
    "RunExists",
    "RunGaveUp",
    "RunMismatch",
    "RunNotBegun",
    "RunNotFound",
    "RunNotWritten",
    "RunOutOfQuota",
    "RunOverBudget",
    "RunStopped",
    "RunUnreadable",
    "SignInError",
    "StorageBucketMissing",
    "StorageDenied",
    "StorageError",
    "StorageFailed",
    "StorageKeyUnknown",
    "StorageNotConfigured",
    "StorageSecretWrong",
    "StorageUnreachable",
    "TrecIdUnknown",
    "TrecLineWrong",
    "UnknownChoice",
    "UnknownQrelDocument",
    "UnknownQrelQuery",
    "UploadBinary",
    "UploadDamaged",
    "UploadEmpty",
    "UploadEncrypted",
    "UploadError",
    "UploadExpands",
    "UploadNoRoom",
    "UploadScanned",
    "UploadTooLarge",
    "UploadTooManyPages",
    "UploadTooSlow",
    "UploadTypeUnsupported",
    "UploadWrongSuffix",
    "VectorStoreUnavailable",
    "all_errors",
]


def all_errors() -> list[type[ChatbotError]]:
    """Every concrete error class (one with a code), for the documentation and the catalogues' tests."""
    found: list[type[ChatbotError]] = []
    pending: list[type[ChatbotError]] = [ChatbotError]
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        if cls.code:
            found.append(cls)
    return sorted(found, key=lambda cls: cls.code)
