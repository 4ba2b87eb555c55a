"""The error tree. Every error says what failed, on which id, what was legal, and the next step.

    ChatbotError
    ├── ConfigurationError          a setting or an argument is wrong          (exit code 2)
    │   ├── InvalidSetting
    │   │   ├── ConfigFileInvalid   a value of a YAML file
    │   │   ├── ConfigKeyUnknown
    │   │   └── ConfigFileUnreadable
    │   ├── UnknownChoice           strategy, provider, embedder, …
    │   ├── MissingPackage
    │   ├── QuestionTooLong
    │   ├── NeedsLanguageModel
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
    │   ├── DatasetSourceFailed     a place that is added gave none            (exit code 1)
    │   └── DownloadFailed          from the public hub                        (exit code 1)
    ├── StorageError                S3 or MinIO                                (exit code 1)
    │   ├── StorageNotConfigured                                               (exit code 2)
    │   ├── StoragePackageMissing   boto3 is not installed                     (exit code 2)
    │   ├── StorageKeyUnknown                                                  (exit code 2)
    │   ├── StorageKeyExpired                                                  (exit code 2)
    │   ├── StorageSecretWrong                                                 (exit code 2)
    │   ├── StorageDenied           the key lacks a permission                 (exit code 2)
    │   ├── StorageBucketMissing                                               (exit code 2)
    │   ├── StorageUnreachable
    │   │   └── StorageUnavailable  it answers with an error of its own, 5xx
    │   │       └── StorageWriteUnavailable
    │   ├── StorageAddressWrong     another kind of server                     (exit code 2)
    │   └── StorageFailed           any other refusal, or a damaged transfer
    │       ├── StorageChanged      an object has another version
    │       ├── StorageDamaged      its content is not what was sent
    │       └── StorageFull
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
    │   ├── DocumentSourceFailed    a place that is added gave none
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
    │   ├── NothingProposed
    │   └── ProposalsUnusable       no question that a model wrote can be used
    ├── RunError                    a benchmark run                            (exit code 1)
    │   ├── RunNotBegun             its folder cannot be written
    │   ├── RunNotFound                                                        (exit code 2)
    │   ├── RunUnreadable
    │   ├── RunBusy
    │   ├── RunAlreadyFinished
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
    │   ├── RunProviderLeft         another provider was chosen meanwhile
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
    │       ├── NothingToTest       no common questions or metrics
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
    │   ├── ProviderReplyUnusable   it replied, but the reply cannot be used
    │   ├── ProviderLeft            another provider was chosen meanwhile
    │   └── RequestStopped          nobody waits for the answer any more
    ├── LimitError                  more than one visitor, or the server, may have (exit code 1)
    │   ├── TooManyAnswers          running or waiting, of one visitor
    │   ├── ServerHasNoPlace        too many answers of all visitors
    │   ├── AnswerNotAwaited        its visitor had left before its turn came
    │   ├── TooManyConversations
    │   └── TooManyKnowledgeBases
    ├── SignInError                 signing in to Admin failed                 (exit code 1)
    │   ├── PasswordWrong
    │   ├── PasswordTriesExhausted  too many wrong passwords
    │   └── AdminNeeded             an action of the pages that is for administrators
    ├── DataFolderError             the data folder as a whole
    │   ├── DataFolderUnusable                                             (exit code 2)
    │   └── DataFolderInUse         by a server or a command
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

# ruff: noqa: F403 - each module holds errors only, and all of them are public
from chatbot_mvp.errors.base import *
from chatbot_mvp.errors.chat import *
from chatbot_mvp.errors.configuration import *
from chatbot_mvp.errors.datasets import *
from chatbot_mvp.errors.documents import *
from chatbot_mvp.errors.files import *
from chatbot_mvp.errors.providers import *
from chatbot_mvp.errors.runs import *
