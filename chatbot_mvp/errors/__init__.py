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
    │   ├── SplitUnknown            of the judgements
    │   ├── SplitNeeded             there are several and none is the default
    │   ├── DatasetNameUnusable     as the name of a folder
    │   ├── DatasetNameTaken
    │   ├── DatasetNotOwn           bundled or on S3, so it cannot be deleted here
    │   ├── DatasetUploadError
    │   │   ├── DatasetUploadTooLarge
    │   │   ├── DatasetUploadDamaged
    │   │   ├── DatasetUploadIncomplete
    │   │   ├── DatasetUploadUnsafe     an entry outside the folder, a link or a repeated entry
    │   │   ├── DatasetUploadExpands    it would be too large when unpacked
    │   │   ├── DatasetUploadTooSteep   a small file that would unpack to a very large one
    │   │   ├── DatasetUploadTooManyEntries
    │   │   └── DatasetUploadTooDemanding
    │   └── DownloadFailed          from the public hub                        (exit code 1)
    ├── StorageError                S3 or MinIO                                (exit code 1)
    │   ├── StorageNotConfigured                                               (exit code 2)
    │   ├── StorageKeyUnknown                                                  (exit code 2)
    │   ├── StorageKeyExpired                                                  (exit code 2)
    │   ├── StorageSecretWrong                                                 (exit code 2)
    │   ├── StorageDenied           the key lacks a permission                 (exit code 2)
    │   ├── StorageBucketMissing                                               (exit code 2)
    │   ├── StorageUnreachable
    │   │   └── StorageUnavailable  it answers with an error of its own, 5xx
    │   └── StorageFailed           any other refusal, or a damaged transfer
    │       ├── StorageChanged      an object has another version
    │       └── StorageFull
    ├── SharingError                DATA_ROOT                                  (exit code 2)
    │   ├── SharedRootUnusable
    │   ├── SharedRootEmptied
    │   └── SharedRootOfLaterVersion
    ├── UploadError                 a file for a knowledge base                (exit code 2)
    │   ├── UploadEmpty
    │   ├── UploadBinary
    │   ├── UploadTooLarge
    │   ├── UploadTypeUnsupported
    │   ├── UploadWrongSuffix       the extension does not match the content
    │   ├── UploadDamaged
    │   ├── UploadEncrypted
    │   ├── UploadScanned           all pages are images
    │   ├── UploadTooDeep           elements nested deeper than people write
    │   ├── UploadTooManyElements
    │   ├── UploadTooManyHeadings
    │   ├── UploadTooManyRows       of tables
    │   ├── UploadTooManyPages
    │   ├── UploadExpands           it would be too large when unpacked
    │   ├── UploadTooSteep          a small file that would unpack to a very large one
    │   ├── UploadTooManyParts      of a zip
    │   ├── UploadTooSlow
    │   ├── UploadNeedsMemory       more than the server has
    │   ├── UploadQueueFull         too many files of one session wait
    │   └── UploadNoRoom            the previous files have filled the knowledge base
    ├── KbNotFound                                                             (exit code 2)
    ├── ConversationNotFound        a conversation of the chat                 (exit code 2)
    ├── KbUnreadable                a stored knowledge base is damaged         (exit code 1)
    ├── KbNotWritten                the disk is full or refuses to write       (exit code 1)
    ├── KbEvaluationError           evaluation questions or their results      (exit code 2)
    │   ├── QuestionSetNotFound
    │   ├── QuestionSetChanged      by someone else, in the meantime
    │   ├── KbResultNotFound
    │   ├── NoQuestionsKept
    │   ├── NoLabelledQuestions
    │   ├── ResultOfOtherText
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
    │   ├── NothingToScore          no query has a judgement or an answer       (exit code 5)
    │   ├── NothingScored           by any metric, when the run ended           (exit code 5)
    │   ├── NothingToExport         in this format
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
    ├── GateError                   a comparison with a baseline file          (exit code 2)
    │   ├── BaselineUnreadable
    │   ├── BaselineQuestionsDiffer
    │   ├── BaselineContentDiffers
    │   ├── NothingToGate
    │   └── GateSourceMissing
    ├── ProviderError               a provider could not serve a request       (exit code 1)
    │   ├── ProviderNotConfigured                                              (exit code 2)
    │   ├── ProviderKeyRefused
    │   ├── ProviderModelUnknown
    │   ├── ProviderBadRequest
    │   ├── ProviderPromptTooLong
    │   ├── ProviderRateLimited     after retries
    │   ├── ProviderQuotaExhausted  no retry would help
    │   ├── ProviderUnavailable     time-out, lost connection, 5xx; after retries
    │   ├── ProviderReplyUnusable   it replied, but the reply cannot be used
    │   └── RequestStopped          nobody waits for the answer any more
    ├── SignInError                 signing in to Admin failed                 (exit code 1)
    │   ├── PasswordWrong
    │   ├── PasswordTriesExhausted  too many wrong passwords
    │   └── AdminNeeded             an action of the pages that is for administrators
    ├── FileError                   a file of the data folder                  (exit code 1)
    │   ├── FileNotWritten          the disk is full or refuses to write
    │   └── FileOfLaterVersion      written by a later version of the program
    ├── AddressUnavailable          for `serve` to listen on                   (exit code 1)
    ├── CacheUnusable               a cache of vectors or contexts on disk     (exit code 1)
    └── RunStopped                  the user stopped it; not a failure         (exit code 130)

An error carries its values in ``params`` and a stable ``code``, so that a page can show it in the reader's language:
the catalogues hold one text per code, with the same placeholders.
"""

from __future__ import annotations

# "X as X" marks a name as public for type checkers, so that no second list in __all__ is needed. isort would write one
# statement for each name.
# ruff: isort: skip_file
from chatbot_mvp.errors.base import ChatbotError as ChatbotError, all_errors as all_errors
from chatbot_mvp.errors.configuration import (
    AddressUnavailable as AddressUnavailable,
    AdminNeeded as AdminNeeded,
    CacheUnusable as CacheUnusable,
    ChoiceNotKept as ChoiceNotKept,
    ConfigurationError as ConfigurationError,
    EmbedderDownloadFailed as EmbedderDownloadFailed,
    EmbedderFileMissing as EmbedderFileMissing,
    EmbedderFileUnreadable as EmbedderFileUnreadable,
    EmbedderOptionInvalid as EmbedderOptionInvalid,
    EmbedderTokensMismatch as EmbedderTokensMismatch,
    InvalidSetting as InvalidSetting,
    MissingPackage as MissingPackage,
    NeedsLanguageModel as NeedsLanguageModel,
    PasswordTriesExhausted as PasswordTriesExhausted,
    PasswordWrong as PasswordWrong,
    PromptsUnreadable as PromptsUnreadable,
    SignInError as SignInError,
    UnknownChoice as UnknownChoice,
    VectorStoreUnavailable as VectorStoreUnavailable,
)
from chatbot_mvp.errors.datasets import (
    DatasetChanged as DatasetChanged,
    DatasetError as DatasetError,
    DatasetFileMissing as DatasetFileMissing,
    DatasetFileUnreadable as DatasetFileUnreadable,
    DatasetNameTaken as DatasetNameTaken,
    DatasetNameUnusable as DatasetNameUnusable,
    DatasetNotFound as DatasetNotFound,
    DatasetNotOwn as DatasetNotOwn,
    DatasetUploadDamaged as DatasetUploadDamaged,
    DatasetUploadError as DatasetUploadError,
    DatasetUploadExpands as DatasetUploadExpands,
    DatasetUploadTooManyEntries as DatasetUploadTooManyEntries,
    DatasetUploadTooSteep as DatasetUploadTooSteep,
    DatasetUploadIncomplete as DatasetUploadIncomplete,
    DatasetUploadTooDemanding as DatasetUploadTooDemanding,
    DatasetUploadTooLarge as DatasetUploadTooLarge,
    DatasetUploadUnsafe as DatasetUploadUnsafe,
    DownloadFailed as DownloadFailed,
    DuplicateId as DuplicateId,
    EmptyDataset as EmptyDataset,
    MissingColumn as MissingColumn,
    StorageBucketMissing as StorageBucketMissing,
    StorageChanged as StorageChanged,
    StorageDenied as StorageDenied,
    StorageError as StorageError,
    StorageFailed as StorageFailed,
    StorageFull as StorageFull,
    StorageKeyExpired as StorageKeyExpired,
    StorageKeyUnknown as StorageKeyUnknown,
    StorageNotConfigured as StorageNotConfigured,
    StorageSecretWrong as StorageSecretWrong,
    StorageUnavailable as StorageUnavailable,
    StorageUnreachable as StorageUnreachable,
    SplitNeeded as SplitNeeded,
    SplitUnknown as SplitUnknown,
    UnknownQrelDocument as UnknownQrelDocument,
    UnknownQrelQuery as UnknownQrelQuery,
)
from chatbot_mvp.errors.documents import (
    ConversationNotFound as ConversationNotFound,
    KbEvaluationError as KbEvaluationError,
    KbNotFound as KbNotFound,
    KbResultNotFound as KbResultNotFound,
    KbNotWritten as KbNotWritten,
    KbUnreadable as KbUnreadable,
    NoLabelledQuestions as NoLabelledQuestions,
    NoQuestionsKept as NoQuestionsKept,
    ResultOfOtherText as ResultOfOtherText,
    NothingProposed as NothingProposed,
    ProposalsUnusable as ProposalsUnusable,
    QuestionSetChanged as QuestionSetChanged,
    QuestionSetNotFound as QuestionSetNotFound,
    UploadBinary as UploadBinary,
    UploadDamaged as UploadDamaged,
    UploadEmpty as UploadEmpty,
    UploadEncrypted as UploadEncrypted,
    UploadError as UploadError,
    UploadExpands as UploadExpands,
    UploadNeedsMemory as UploadNeedsMemory,
    UploadNoRoom as UploadNoRoom,
    UploadQueueFull as UploadQueueFull,
    UploadScanned as UploadScanned,
    UploadTooLarge as UploadTooLarge,
    UploadTooManyPages as UploadTooManyPages,
    UploadTooDeep as UploadTooDeep,
    UploadTooManyElements as UploadTooManyElements,
    UploadTooManyHeadings as UploadTooManyHeadings,
    UploadTooManyParts as UploadTooManyParts,
    UploadTooManyRows as UploadTooManyRows,
    UploadTooSteep as UploadTooSteep,
    UploadTooSlow as UploadTooSlow,
    UploadTypeUnsupported as UploadTypeUnsupported,
    UploadWrongSuffix as UploadWrongSuffix,
)
from chatbot_mvp.errors.files import (
    FileError as FileError,
    FileNotWritten as FileNotWritten,
    FileOfLaterVersion as FileOfLaterVersion,
)
from chatbot_mvp.errors.gate import (
    BaselineContentDiffers as BaselineContentDiffers,
    BaselineQuestionsDiffer as BaselineQuestionsDiffer,
    BaselineUnreadable as BaselineUnreadable,
    GateError as GateError,
    GateSourceMissing as GateSourceMissing,
    NothingToGate as NothingToGate,
)
from chatbot_mvp.errors.providers import (
    ProviderBadRequest as ProviderBadRequest,
    ProviderError as ProviderError,
    ProviderKeyRefused as ProviderKeyRefused,
    ProviderModelUnknown as ProviderModelUnknown,
    ProviderNotConfigured as ProviderNotConfigured,
    ProviderPromptTooLong as ProviderPromptTooLong,
    ProviderQuotaExhausted as ProviderQuotaExhausted,
    ProviderRateLimited as ProviderRateLimited,
    ProviderReplyUnusable as ProviderReplyUnusable,
    ProviderUnavailable as ProviderUnavailable,
    RequestStopped as RequestStopped,
)
from chatbot_mvp.errors.runs import (
    BudgetWithoutPrice as BudgetWithoutPrice,
    BundleDamaged as BundleDamaged,
    BundleUnsafe as BundleUnsafe,
    CorporaDiffer as CorporaDiffer,
    ExportNotWritten as ExportNotWritten,
    ImportNotWritten as ImportNotWritten,
    ImportRefused as ImportRefused,
    NotComparable as NotComparable,
    NoteChanged as NoteChanged,
    NoteNotWritten as NoteNotWritten,
    NothingToCompare as NothingToCompare,
    NothingToEvaluate as NothingToEvaluate,
    NothingToImport as NothingToImport,
    NothingScored as NothingScored,
    NothingToExport as NothingToExport,
    NothingToRetry as NothingToRetry,
    NothingToScore as NothingToScore,
    PilotFailed as PilotFailed,
    QuestionsDiffer as QuestionsDiffer,
    RunAlreadyFinished as RunAlreadyFinished,
    RunBusy as RunBusy,
    RunError as RunError,
    RunExists as RunExists,
    RunGaveUp as RunGaveUp,
    RunMismatch as RunMismatch,
    RunNotBegun as RunNotBegun,
    RunNotFound as RunNotFound,
    RunNotWritten as RunNotWritten,
    RunOutOfQuota as RunOutOfQuota,
    RunOverBudget as RunOverBudget,
    RunStopped as RunStopped,
    RunUnreadable as RunUnreadable,
    TrecIdUnknown as TrecIdUnknown,
    TrecLineWrong as TrecLineWrong,
)
from chatbot_mvp.errors.sharing import SharedRootEmptied as SharedRootEmptied
from chatbot_mvp.errors.sharing import SharedRootOfLaterVersion as SharedRootOfLaterVersion
from chatbot_mvp.errors.sharing import SharedRootUnusable as SharedRootUnusable
from chatbot_mvp.errors.sharing import SharingError as SharingError
