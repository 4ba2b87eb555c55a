"""The error tree. Every error says what failed, on which id, what was legal, and the next step.

    ChatbotError
    ├── ConfigurationError          a setting or an argument is wrong          (exit code 2)
    │   ├── InvalidSetting
    │   ├── UnknownChoice           strategy, provider, embedder, …
    │   ├── MissingPackage
    │   ├── NeedsLanguageModel
    │   ├── PromptsUnreadable       a judge's prompts, in a user's file
    │   ├── ChoiceNotKept           a choice made in Admin cannot be saved
    │   ├── VectorStoreUnavailable
    │   ├── EmbedderFileMissing     of a user's own embedding model
    │   ├── EmbedderFileUnreadable
    │   ├── EmbedderOptionInvalid   in embedding.toml
    │   ├── EmbedderTokensMismatch  tokenizer and model are of different models
    │   └── EmbedderDownloadFailed  by the package fastembed
    ├── DatasetError                a data set cannot be used as it is         (exit code 2)
    │   ├── DatasetNotFound
    │   ├── DatasetChanged          since a run used it
    │   ├── DatasetFileMissing
    │   ├── DatasetFileUnreadable
    │   ├── MissingColumn
    │   ├── DuplicateId
    │   ├── EmptyDataset
    │   ├── UnknownQrelDocument
    │   ├── UnknownQrelQuery
    │   ├── DatasetNameUnusable     as the name of a folder
    │   ├── DatasetNameTaken
    │   ├── DatasetNotOwn           bundled or on S3, so it cannot be deleted here
    │   ├── DatasetUploadError
    │   │   ├── DatasetUploadTooLarge
    │   │   ├── DatasetUploadDamaged
    │   │   ├── DatasetUploadIncomplete
    │   │   ├── DatasetUploadUnsafe     an entry outside the folder, a link or a repeated entry
    │   │   ├── DatasetUploadExpands    a small file that would unpack to a very large one
    │   │   └── DatasetUploadTooDemanding
    │   └── DownloadFailed          from the public hub                        (exit code 1)
    ├── StorageError                S3 or MinIO                                (exit code 1)
    │   ├── StorageNotConfigured                                               (exit code 2)
    │   ├── StorageKeyUnknown                                                  (exit code 2)
    │   ├── StorageSecretWrong                                                 (exit code 2)
    │   ├── StorageDenied           the key lacks a permission                 (exit code 2)
    │   ├── StorageBucketMissing                                               (exit code 2)
    │   ├── StorageUnreachable
    │   └── StorageFailed           any other refusal, or a damaged transfer
    ├── UploadError                 a file for a knowledge base                (exit code 2)
    │   ├── UploadEmpty
    │   ├── UploadBinary
    │   ├── UploadTooLarge
    │   ├── UploadTypeUnsupported
    │   ├── UploadWrongSuffix       the extension does not match the content
    │   ├── UploadDamaged
    │   ├── UploadEncrypted
    │   ├── UploadScanned           all pages are images
    │   ├── UploadTooManyPages
    │   ├── UploadExpands           a small file that would unpack to a very large one
    │   ├── UploadTooSlow
    │   ├── UploadNeedsMemory       more than the server has
    │   └── UploadNoRoom            the previous files have filled the knowledge base
    ├── KbNotFound                                                             (exit code 2)
    ├── ConversationNotFound        a conversation of the chat                 (exit code 2)
    ├── KbUnreadable                a stored knowledge base is damaged         (exit code 1)
    ├── KbEvaluationError           evaluation questions or their results      (exit code 2)
    │   ├── QuestionSetNotFound
    │   ├── KbResultNotFound
    │   ├── NoQuestionsKept
    │   ├── NothingProposed
    │   └── ProposalsUnusable       no question that a model wrote can be used
    ├── RunError                    a benchmark run                            (exit code 1)
    │   ├── RunNotBegun             its folder cannot be written
    │   ├── RunNotFound                                                        (exit code 2)
    │   ├── RunUnreadable
    │   ├── RunBusy
    │   ├── RunAlreadyFinished
    │   ├── NothingToEvaluate                                                  (exit code 2)
    │   ├── NothingToRetry
    │   ├── NoteChanged             by someone else, in the meantime
    │   ├── NoteNotWritten
    │   ├── RunMismatch
    │   ├── RunNotWritten           the disk is full or refuses to write
    │   ├── RunOutOfQuota           it can be resumed when there is quota again
    │   ├── RunOverBudget           it can be resumed with a larger budget
    │   ├── RunGaveUp               the provider failed many times in a row
    │   ├── BudgetWithoutPrice
    │   ├── PilotFailed             the trial of an estimate over a few queries
    │   ├── ExportNotWritten
    │   ├── ImportNotWritten
    │   ├── ImportRefused           a run from another machine or program      (exit code 2)
    │   │   ├── NothingToImport
    │   │   ├── BundleDamaged       a zip from ``benchmark export``
    │   │   ├── BundleUnsafe        a zip with unsafe paths or sizes
    │   │   ├── RunExists
    │   │   ├── TrecLineWrong
    │   │   └── TrecIdUnknown       the id of a query or a document
    │   └── NotComparable           runs that cannot be compared               (exit code 2)
    │       ├── NothingToCompare
    │       ├── CorporaDiffer
    │       └── QuestionsDiffer
    ├── ProviderError               a provider could not serve a request       (exit code 1)
    │   ├── ProviderNotConfigured                                              (exit code 2)
    │   ├── ProviderKeyRefused
    │   ├── ProviderModelUnknown
    │   ├── ProviderBadRequest
    │   ├── ProviderPromptTooLong
    │   ├── ProviderRateLimited     after retries
    │   ├── ProviderQuotaExhausted  no retry would help
    │   ├── ProviderUnavailable     time-out, lost connection, 5xx; after retries
    │   └── ProviderReplyUnusable   it replied, but the reply cannot be used
    ├── SignInError                 signing in to Admin failed                 (exit code 1)
    │   ├── PasswordWrong
    │   └── PasswordTriesExhausted  too many wrong passwords
    ├── CacheUnusable               a cache of vectors or contexts on disk     (exit code 1)
    └── RunStopped                  the user stopped it; not a failure         (exit code 130)

An error carries its values in ``params`` and a stable ``code``, so that a page can show it in the reader's language:
the catalogues hold one text per code, with the same placeholders.
"""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError, all_errors
from chatbot_mvp.errors.configuration import (
    CacheUnusable,
    ChoiceNotKept,
    ConfigurationError,
    EmbedderDownloadFailed,
    EmbedderFileMissing,
    EmbedderFileUnreadable,
    EmbedderOptionInvalid,
    EmbedderTokensMismatch,
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
    UploadNeedsMemory,
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
    "EmbedderDownloadFailed",
    "EmbedderFileMissing",
    "EmbedderFileUnreadable",
    "EmbedderOptionInvalid",
    "EmbedderTokensMismatch",
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
    "UploadNeedsMemory",
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
