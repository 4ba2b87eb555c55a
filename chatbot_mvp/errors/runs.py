"""Benchmark runs and evaluations."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


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


class RunStopped(ChatbotError):
    code = "run_stopped"
    template = (
        "The run {run_id!r} was stopped; what was recorded is kept. "
        "Continue with: chatbot-mvp benchmark resume {run_id}"
    )
    exit_code = 130
