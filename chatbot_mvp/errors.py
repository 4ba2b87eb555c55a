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

from typing import ClassVar


class ChatbotError(Exception):
    """Base of all errors a user can act on. ``str(error)`` is the English text."""

    code: ClassVar[str] = ""
    template: ClassVar[str] = ""
    exit_code: ClassVar[int] = 1

    def __init__(self, **params: object) -> None:
        self.params = params
        super().__init__(self.template.format(**params))


class ConfigurationError(ChatbotError):
    exit_code = 2


class InvalidSetting(ConfigurationError):
    code = "invalid_setting"
    template = "{name}={found!r} is not valid: {reason}. Change it in the environment or in .env."


class UnknownChoice(ConfigurationError):
    code = "unknown_choice"
    template = "There is no {kind} {found!r}. Choose one of: {legal}."


class MissingPackage(ConfigurationError):
    code = "missing_package"
    template = "{feature} needs the package {package!r}. Install it with: {command}"


class NeedsLanguageModel(ConfigurationError):
    code = "needs_language_model"
    template = (
        "{feature} needs a language model, and the provider {provider!r} has none or is not configured. "
        "Choose a provider with a model in Admin or by PROVIDER, or do without {feature}."
    )


class PromptsUnreadable(ConfigurationError):
    code = "prompts_unreadable"
    template = "The prompts in {path!r} cannot be used: {reason}. Correct it, or remove it to use the built-in ones."


class ChoiceNotKept(ConfigurationError):
    code = "choice_not_kept"
    template = "The choice cannot be kept in {path!r}: {reason}. Make the file writable or make room, and try again."
    exit_code = 2


class VectorStoreUnavailable(ConfigurationError):
    code = "vector_store_unavailable"
    template = (
        "The vector store at {place!r} cannot be used: {reason}. "
        "Check CHROMA_HOST and that the server runs, or set VECTOR_STORE=exact."
    )


class DatasetError(ChatbotError):
    exit_code = 2


class DatasetNotFound(DatasetError):
    code = "dataset_not_found"
    template = "There is no data set {name!r}. Give a folder with corpus, queries and qrels, or one of: {legal}."


class DatasetChanged(DatasetError):
    code = "dataset_changed"
    template = (
        "The data set {name!r} is not the one any more that the run {run_id!r} was over. "
        "Restore it, or run the benchmark again."
    )


class DatasetFileMissing(DatasetError):
    code = "dataset_file_missing"
    template = "The data set has no file {path!r}. Add it, or give another folder."


class DatasetFileUnreadable(DatasetError):
    code = "dataset_file_unreadable"
    template = "{path!r} cannot be read: {reason}. Restore the file or export it again."


class MissingColumn(DatasetError):
    code = "missing_column"
    template = "{path!r} has no column {column!r}; found: {found}. Add the column or rename the one that holds it."


class DuplicateId(DatasetError):
    code = "duplicate_id"
    template = "{path!r} has the id {id!r} more than once. Ids must be unique; remove the repeated row."


class EmptyDataset(DatasetError):
    code = "empty_dataset"
    template = "{path!r} has no rows. A data set needs at least one document and one query."


class UnknownQrelDocument(DatasetError):
    code = "unknown_qrel_document"
    template = (
        "The qrels of query {query_id!r} name the document {doc_id!r}, which is not in the corpus "
        "({count} such rows). Add the document or remove the rows."
    )


class UnknownQrelQuery(DatasetError):
    code = "unknown_qrel_query"
    template = (
        "The qrels name the query {query_id!r}, which is not among the queries ({count} such rows). "
        "Add the query or remove the rows."
    )


class DatasetNameUnusable(DatasetError):
    code = "dataset_name_unusable"
    template = (
        "{name!r} cannot be the name of a data set. Use up to 60 letters without accents, digits, '-', '_' and '.', "
        "beginning with a letter, a digit or '_'."
    )


class DatasetNameTaken(DatasetError):
    code = "dataset_name_taken"
    template = "There is a data set {name!r} already, at {place!r}. Choose another name, or delete that one first."


class DatasetNotOwn(DatasetError):
    code = "dataset_not_own"
    template = "{name!r} is no data set that was added here. Only those below {folder!r} can be deleted."


class DatasetUploadError(DatasetError):
    """An upload that cannot become a data set; what was there before stays."""


class DatasetUploadTooLarge(DatasetUploadError):
    code = "dataset_upload_too_large"
    template = (
        "{name!r} has {size_mb} MB, and at most {limit_mb} MB are taken (DATASET_MAX_UPLOAD_MB). "
        "Put it in a folder on the server and add the folder."
    )


class DatasetUploadDamaged(DatasetUploadError):
    code = "dataset_upload_damaged"
    template = "{name!r} cannot be unpacked: {reason}. Pack it again, as a zip without a password."


class DatasetUploadIncomplete(DatasetUploadError):
    code = "dataset_upload_incomplete"
    template = (
        "{name!r} is no data set; found: {found}. A zip needs corpus.jsonl, queries.jsonl and qrels/*.tsv (BEIR), or "
        "corpus.parquet, queries.parquet and qrels.parquet; these three may be uploaded without a zip."
    )


class DatasetUploadUnsafe(DatasetUploadError):
    code = "dataset_upload_unsafe"
    template = (
        "{name!r} was not unpacked: the entry {entry!r} leads out of its folder, is a link, or is there twice. "
        "Pack it again from the data set's own folder."
    )


class DatasetUploadExpands(DatasetUploadError):
    code = "dataset_upload_expands"
    template = (
        "{name!r} was not unpacked: with {entry!r} it would become far larger than a data set of its size is, or more "
        "than {limit_mb} MB. Put it in a folder on the server and add the folder."
    )


class DatasetUploadTooDemanding(DatasetUploadError):
    code = "dataset_upload_too_demanding"
    template = (
        "{name!r} could not be read in {seconds} s and {memory_mb} MB of memory. "
        "Upload a part of it, or put it in a folder on the server and add the folder."
    )


class DownloadFailed(DatasetError):
    code = "download_failed"
    template = "{url!r} could not be downloaded: {reason}. Check the address and try again; what has arrived is kept."
    exit_code = 1


class StorageError(ChatbotError):
    """The S3 server of data sets did not do what it was asked."""


class StorageNotConfigured(StorageError):
    code = "storage_not_configured"
    template = (
        "{reference!r} can only be on S3 or MinIO, which is not configured completely; missing: {missing}. "
        "Set it in .env, or give a data set of this machine."
    )
    exit_code = 2


class StorageKeyUnknown(StorageError):
    code = "storage_key_unknown"
    template = "The S3 server at {endpoint!r} does not know the access key. Check MINIO_ACCESS_KEY."
    exit_code = 2


class StorageSecretWrong(StorageError):
    code = "storage_secret_wrong"
    template = (
        "The S3 server at {endpoint!r} knows the access key and refuses the secret that came with it. "
        "Check MINIO_SECRET_KEY."
    )
    exit_code = 2


class StorageDenied(StorageError):
    code = "storage_denied"
    template = (
        "The S3 server at {endpoint!r} does not allow this access key to {action} {place!r}. "
        "Give the key that right, or use another MINIO_ACCESS_KEY."
    )
    exit_code = 2


class StorageBucketMissing(StorageError):
    code = "storage_bucket_missing"
    template = (
        "The S3 server at {endpoint!r} has no bucket {bucket!r}. Create it, or check MINIO_BUCKET_NAME or the address."
    )
    exit_code = 2


class StorageUnreachable(StorageError):
    code = "storage_unreachable"
    template = (
        "The S3 server at {endpoint!r} cannot be reached: {reason}. Check MINIO_ENDPOINT and that the server runs."
    )


class StorageFailed(StorageError):
    code = "storage_failed"
    template = "The S3 server at {endpoint!r} failed to {action} {place!r}: {reason}. Try again."


class UploadError(ChatbotError):
    exit_code = 2


class UploadEmpty(UploadError):
    code = "upload_empty"
    template = "{name!r} has no text. Choose a file with content."


class UploadBinary(UploadError):
    code = "upload_binary"
    template = "{name!r} is not a text file. Save it as plain text or Markdown in UTF-8."


class UploadTooLarge(UploadError):
    code = "upload_too_large"
    template = "{name!r} has {size_mb} MB; at most {limit_mb} MB are taken. Split it or upload a shorter version."


class UploadTypeUnsupported(UploadError):
    code = "upload_type_unsupported"
    template = "{name!r} is not of a supported type. Use one of: {legal}."


class UploadWrongSuffix(UploadError):
    code = "upload_wrong_suffix"
    template = "{name!r} is not what its name says: its content is that of a {found} file. Rename it to end in {found}."


class UploadDamaged(UploadError):
    code = "upload_damaged"
    template = "{name!r} cannot be read as {kind}: {reason}. Open it where it was made and save it again."


class UploadEncrypted(UploadError):
    code = "upload_encrypted"
    template = "{name!r} is protected by a password. Save a copy without one and upload that."


class UploadScanned(UploadError):
    code = "upload_scanned"
    template = (
        "{name!r} has no text in its pages ({pages}): they are images. Have their text recognised (OCR), save it as a "
        "PDF with text, and upload that."
    )


class UploadTooManyPages(UploadError):
    code = "upload_too_many_pages"
    template = "{name!r} has {pages} pages; at most {limit} are taken (KB_MAX_PAGES). Split it or leave pages out."


class UploadExpands(UploadError):
    code = "upload_expands"
    template = (
        "{name!r} would take more than {limit_mb} MB when unpacked. No ordinary document does; save it again, or "
        "upload its text."
    )


class UploadTooSlow(UploadError):
    code = "upload_too_slow"
    template = "{name!r} could not be read within {seconds} seconds. Split it, or upload its text."


class UploadNoRoom(UploadError):
    code = "upload_no_room"
    template = (
        "There is no room for {name!r}: the files before it fill the {limit} characters that a knowledge base may have "
        "(KB_MAX_CHARS). Upload it as a knowledge base of its own."
    )


class KbNotFound(ChatbotError):
    code = "kb_not_found"
    template = "There is no knowledge base {kb_id!r}. Known: {legal}."
    exit_code = 2


class KbUnreadable(ChatbotError):
    code = "kb_unreadable"
    template = "The knowledge base {kb_id!r} cannot be read: {reason}. Upload the document again."


class ConversationNotFound(ChatbotError):
    code = "conversation_not_found"
    template = "There is no conversation {conversation_id!r}. It may have been deleted; start another one."
    exit_code = 2


class KbEvaluationError(ChatbotError):
    """Questions of a knowledge base, or what came of asking them."""

    exit_code = 2


class QuestionSetNotFound(KbEvaluationError):
    code = "question_set_not_found"
    template = (
        "The knowledge base {kb_id!r} has no question set {set_id!r} that can be read. It may have been deleted; "
        "choose another one or make a new one."
    )


class KbResultNotFound(KbEvaluationError):
    code = "kb_result_not_found"
    template = (
        "The knowledge base {kb_id!r} has no evaluation {result_id!r} that can be read. It may have been deleted; "
        "choose another one or start a new one."
    )


class NoQuestionsKept(KbEvaluationError):
    code = "no_questions_kept"
    template = "No question of the set {name!r} is kept, so there is nothing to ask. Keep or add at least one."


class NothingProposed(KbEvaluationError):
    code = "nothing_proposed"
    template = (
        "No question could be made from the knowledge base {kb_id!r}: its text has no headings, definitions, figures "
        "or names. Write some by hand or import a file."
    )


class ProposalsUnusable(KbEvaluationError):
    code = "proposals_unusable"
    template = (
        "No question of the language model's for the knowledge base {kb_id!r} could be used: {reason}. Choose another "
        "model, or propose without one."
    )


class RunError(ChatbotError):
    pass


class RunNotBegun(RunError):
    code = "run_not_begun"
    template = (
        "No run can begin in {folder!r}: {reason}. Make room or another DATA_DIR, then start it again; nothing was "
        "written."
    )


class RunNotFound(RunError):
    code = "run_not_found"
    template = "There is no run {run_id!r} in {folder!r}. List the runs with: chatbot-mvp benchmark list"
    exit_code = 2


class RunUnreadable(RunError):
    code = "run_unreadable"
    template = "The run {run_id!r} cannot be read: {reason}. Its records are kept; start a new run."


class RunBusy(RunError):
    code = "run_busy"
    template = "The run {run_id!r} is being worked on by another process. Wait for it or stop it first."


class NoteChanged(RunError):
    code = "note_changed"
    template = (
        "The note of the run {run_id!r} was changed in the meantime; it is now: {found!r}. Nothing was written. "
        "Put both together and save again."
    )


class NoteNotWritten(RunError):
    code = "note_not_written"
    template = (
        "Tags and note of the run {run_id!r} cannot be written to {path!r}: {reason}. What was there stays. "
        "Make room or allow writing, then save again."
    )


class RunAlreadyFinished(RunError):
    code = "run_already_finished"
    template = (
        "The run {run_id!r} is finished: there is nothing to resume. Show it with: chatbot-mvp benchmark show {run_id}"
    )


class NothingToEvaluate(RunError):
    code = "nothing_to_evaluate"
    template = "{source!r} has no answers to evaluate. Run the benchmark with answers, or ask the chat something first."
    exit_code = 2


class NothingToRetry(RunError):
    code = "nothing_to_retry"
    template = (
        "No query of the run {run_id!r} has failed. A stopped one goes on with: chatbot-mvp benchmark resume {run_id}"
    )


class RunMismatch(RunError):
    code = "run_mismatch"
    template = (
        "The run {run_id!r} cannot be resumed, because it would not be the same run: {difference}. "
        "Restore the earlier state or start a new run."
    )


class RunOutOfQuota(RunError):
    code = "run_out_of_quota"
    template = (
        "The run {run_id!r} stopped after {done} of {total} queries: {reason} What is recorded stays. When the quota "
        "is there again: chatbot-mvp benchmark resume {run_id}"
    )


class RunNotWritten(RunError):
    code = "run_not_written"
    template = (
        "The run {run_id!r} stopped because {path!r} cannot be written: {reason}. What is recorded stays. When there "
        "is room again: chatbot-mvp benchmark resume {run_id}"
    )


class RunOverBudget(RunError):
    code = "run_over_budget"
    template = (
        "The run {run_id!r} stopped after {done} of {total} queries: it has cost {spent} USD, and the next one "
        "could exceed the budget of {budget} USD. What is recorded stays. Go on with a larger one: "
        "chatbot-mvp benchmark resume {run_id} --budget USD"
    )


class RunGaveUp(RunError):
    code = "run_gave_up"
    template = (
        "The run {run_id!r} stopped after {failures} failures in a row: {reason} What is recorded stays. When the "
        "provider answers again: chatbot-mvp benchmark retry {run_id}"
    )


class BudgetWithoutPrice(RunError):
    code = "budget_without_price"
    template = (
        "The budget cannot be kept: what {calls} requests cost is not known. Add the model's price to "
        "data/prices.toml, or run without --budget."
    )


class PilotFailed(RunError):
    code = "pilot_failed"
    template = (
        "The pilot over {queries} queries ended early: {reason} What it was answered is in the cache of replies; "
        "the same command goes on with it."
    )


class ImportRefused(RunError):
    exit_code = 2


class NothingToImport(ImportRefused):
    code = "nothing_to_import"
    template = (
        "{path!r} cannot be imported: {reason}. Give a zip of `benchmark export --format zip`, or a TREC run file "
        "together with --dataset."
    )


class BundleDamaged(ImportRefused):
    code = "bundle_damaged"
    template = "{path!r} is not the bundle of a run as it was exported: {reason}. Export or copy it again."


class BundleUnsafe(ImportRefused):
    code = "bundle_unsafe"
    template = "{path!r} was not unpacked: {entry!r} {reason}. Take only bundles of `benchmark export --format zip`."


class ImportNotWritten(RunError):
    code = "import_not_written"
    template = "The run {run_id!r} was not imported: {path!r} cannot be written: {reason}. Make room and try again."


class RunExists(ImportRefused):
    code = "run_exists"
    template = "There is a run {run_id!r} here already; nothing was imported. See: chatbot-mvp benchmark show {run_id}"


class TrecLineWrong(ImportRefused):
    code = "trec_line_wrong"
    template = "{path!r}, line {line}: {reason}. A line is: query Q0 document rank score tag."


class TrecIdUnknown(ImportRefused):
    code = "trec_id_unknown"
    template = (
        "{path!r} names {count} {kind} that the data set {dataset!r} does not have, the first of them {found!r}. "
        "Choose the data set that it was made on with --dataset."
    )


class ExportNotWritten(RunError):
    code = "export_not_written"
    template = "The export cannot be written to {path!r}: {reason}. Give another folder with --output."


class NotComparable(RunError):
    """A difference between the runs would not be one of their configurations."""

    exit_code = 2


class NothingToCompare(NotComparable):
    code = "nothing_to_compare"
    template = (
        "There is nothing to compare among the runs: {runs}. Give two or more different finished runs that share a "
        "metric. List them with: chatbot-mvp benchmark list"
    )


class CorporaDiffer(NotComparable):
    code = "corpora_differ"
    template = (
        "The runs {base!r} and {other!r} are not over the same data (name, documents, SHA-256): {base_dataset} against "
        "{other_dataset}. Run one of them again over the other's data set."
    )


class QuestionsDiffer(NotComparable):
    code = "questions_differ"
    template = (
        "The runs {base!r} and {other!r} did not ask the same questions: {only_base} only in the first, {only_other} "
        "only in the second. Run one of them again with the other's EVAL_MAX_QUERIES."
    )


class ProviderError(ChatbotError):
    """A provider of answers, vectors or rankings did not do what it was asked."""


class ProviderNotConfigured(ProviderError):
    code = "provider_not_configured"
    template = (
        "The provider {provider!r} cannot be used yet; missing: {missing}. Put it in the environment, in .env or in "
        ".streamlit/secrets.toml, or choose another provider."
    )
    exit_code = 2


class ProviderKeyRefused(ProviderError):
    code = "provider_key_refused"
    template = (
        "The provider {provider!r} refused the key for {model!r}: {reason}. "
        "Check {variable}; the provider's console lists the keys that are valid."
    )


class ProviderModelUnknown(ProviderError):
    code = "provider_model_unknown"
    template = (
        "The provider {provider!r} has no model {model!r} at {address}: {reason}. Set {variable} to one that it lists."
    )


class ProviderBadRequest(ProviderError):
    code = "provider_bad_request"
    template = (
        "The provider {provider!r} refused the request to {model!r}: {reason}. "
        "Repeating it would not help; change the options or the model."
    )


class ProviderPromptTooLong(ProviderError):
    code = "provider_prompt_too_long"
    template = (
        "The prompt is too long for {model!r} of the provider {provider!r}: {reason}. "
        "Lower KB_MAX_CONTEXT_CHARS or KB_TOP_K, or choose a model with a larger context."
    )


class ProviderRateLimited(ProviderError):
    code = "provider_rate_limited"
    template = (
        "The provider {provider!r} has too many requests for {model!r} and still said so after {tries} tries: "
        "{reason}. Wait a moment, or lower NIM_MAX_CONCURRENT_REQUESTS."
    )


class ProviderQuotaExhausted(ProviderError):
    code = "provider_quota_exhausted"
    template = (
        "The quota of the provider {provider!r} for {model!r} is used up: {reason}. "
        "Wait until it is renewed, raise it in the provider's console, or choose another provider."
    )


class ProviderUnavailable(ProviderError):
    code = "provider_unavailable"
    template = (
        "The provider {provider!r} with {model!r} did not answer at {address}, tries: {tries}; {reason}. "
        "Check that it runs and can be reached, or raise NIM_REQUEST_TIMEOUT."
    )


class ProviderReplyUnusable(ProviderError):
    code = "provider_reply_unusable"
    template = (
        "The provider {provider!r} gave a reply of {model!r} that cannot be used: {reason}. "
        "Ask again; if it stays so, choose another model."
    )


class SignInError(ChatbotError):
    """Admin stays closed."""


class PasswordWrong(SignInError):
    code = "password_wrong"
    template = "That is not the password of {variable}. Try again, or ask who runs this server."


class PasswordTriesExhausted(SignInError):
    code = "password_tries_exhausted"
    template = "Too many wrong passwords. Wait {seconds} s and try again."


class CacheUnusable(ChatbotError):
    code = "cache_unusable"
    template = (
        "The cache {path!r} cannot be used: {reason}. Make room on its disk and try again: what is in it stays. If "
        "the file is damaged, delete it; it is computed anew."
    )


class RunStopped(ChatbotError):
    code = "run_stopped"
    template = (
        "The run {run_id!r} was stopped; what was recorded is kept. "
        "Continue with: chatbot-mvp benchmark resume {run_id}"
    )
    exit_code = 130


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
