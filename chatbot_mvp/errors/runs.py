"""Errors of runs."""

from __future__ import annotations

from chatbot_mvp.errors.base import ChatbotError


class RunError(ChatbotError):
    texts = {
        "run_not_begun": "No run can start in {folder!r}: {reason}. Free up space or choose another DATA_DIR, then "
        "launch it again; nothing was written.",
        "run_busy": "Another process is working on the run {run_id!r}. Wait until it finishes, or stop it.",
        "note_changed": "The note of the run {run_id!r} was changed in the meantime; it is now: {found!r}. Nothing "
        "was written. Merge the two and save again.",
        "note_not_written": "The tags and the note of the run {run_id!r} cannot be saved to {path!r}: {reason}. The "
        "previous ones are kept. Free up space or grant write permission, then save again.",
        "run_already_finished": "The run {run_id!r} is finished: there is nothing to resume. Show it with: "
        "chatbot-mvp benchmark show {run_id}",
        "nothing_to_retry": "No query of the run {run_id!r} has failed. If the run was stopped, resume it with: "
        "chatbot-mvp benchmark resume {run_id}",
        "run_mismatch": "The run {run_id!r} cannot be resumed because it would no longer be the same run: "
        "{difference}. Restore the earlier state or launch a new run.",
        "run_out_of_quota": "The run {run_id!r} stopped after {done} of {total} queries: {reason} What was recorded "
        "is kept. When there is quota again: chatbot-mvp benchmark resume {run_id}",
        "run_not_written": "The run {run_id!r} stopped because {path!r} cannot be written: {reason}. What was "
        "recorded is kept. When there is space again: chatbot-mvp benchmark resume {run_id}",
        "run_over_budget": "The run {run_id!r} stopped after {done} of {total} queries: it has cost {spent} USD, and "
        "the next one could exceed the budget of {budget} USD. What was recorded is kept. To continue with a larger "
        "budget: chatbot-mvp benchmark resume {run_id} --budget USD",
        "run_gave_up": "The run {run_id!r} stopped after {failures} failures in a row: {reason} What was recorded is "
        "kept. When the provider answers again: chatbot-mvp benchmark retry {run_id}",
        "budget_without_price": "The budget cannot be enforced: the cost of {calls} requests is not known. Add the "
        "model's price to data/prices.toml, or run without --budget.",
        "pilot_failed": "The pilot over {queries} queries ended early: {reason} The replies received are in the reply "
        "cache; running the same command again reuses them.",
        "import_not_written": "The run {run_id!r} was not imported because {path!r} cannot be written: {reason}. Free "
        "up space and try again.",
        "export_not_written": "The export cannot be written to {path!r}: {reason}. Choose another folder with "
        "--output.",
    }


class RunNotFound(RunError):
    exit_code = 2
    texts = {
        "run_not_found": "There is no run {run_id!r} in {folder!r}. List the runs with: chatbot-mvp benchmark list",
    }


class RunUnreadable(RunError):
    texts = {"run_unreadable": "The run {run_id!r} cannot be read: {reason}. Its records are kept; launch a new run."}


class NothingScored(RunError):
    exit_code = 5
    texts = {
        "nothing_scored": "The run {run_id!r} is stored, but none of its {queries} queries was scored by any metric. "
        "Its page in Evaluation and chatbot-mvp benchmark show {run_id} name the reasons.",
        "nothing_to_score": "Nothing of {dataset!r} can be scored: {reason}. Choose another split with --split, or "
        "add the judgements or reference answers.",
    }


class ImportRefused(RunError):
    exit_code = 2
    texts = {
        "nothing_to_import": "{path!r} cannot be imported: {reason}. Provide a zip from `benchmark export --format "
        "zip`, or a TREC run file or ranx' JSON together with --dataset.",
        "bundle_damaged": "{path!r} is not a run bundle as it was exported: {reason}. Export it or copy it again.",
        "bundle_unsafe": "{path!r} was not unpacked: {entry!r} {reason}. Accept only bundles from `benchmark export "
        "--format zip`.",
        "run_exists": "A run {run_id!r} already exists here; nothing was imported. Show it with: chatbot-mvp "
        "benchmark show {run_id}",
        "trec_line_wrong": "{path!r}, line {line}: {reason}. Each line is: query Q0 document rank score tag.",
        "trec_id_unknown": "{path!r} names {count} {kind} that are not in the data set {dataset!r}; the first is "
        "{found!r}. Choose the data set that the file was created with, using --dataset.",
    }


class NothingToExport(RunError):
    texts = {
        "nothing_to_export": "The run {run_id!r} has nothing to write as {form!r}: {reason}. Choose another format.",
    }


class NotComparable(RunError):
    """The runs cannot be compared: a difference would not be caused by their configurations alone."""

    exit_code = 2
    texts = {
        "nothing_to_compare": "These runs have nothing to compare: {runs}. Choose two or more different finished runs "
        "that share a metric. List them with: chatbot-mvp benchmark list",
        "nothing_to_gate": "The baseline {path!r} and today's run have nothing to compare: {reason}. Save a new "
        "baseline of the same questions and metrics.",
        "corpora_differ": "The runs {base!r} and {other!r} do not use the same data (name, documents, SHA-256): "
        "{base_dataset} against {other_dataset}. Repeat one of them with the data of the other.",
        "questions_differ": "The runs {base!r} and {other!r} do not have the same questions: {only_base} are only in "
        "the first and {only_other} only in the second. Repeat one of them with the EVAL_MAX_QUERIES of the other.",
    }


class RunProviderLeft(RunError):
    texts = {
        "run_provider_left": "The run {run_id!r} ended: it began with {provider!r} as the chosen provider, and "
        "{chosen!r} was chosen in the meantime. One run never mixes two models. What was recorded is kept. To "
        "continue with {provider!r} all the same: chatbot-mvp benchmark resume {run_id}. To measure {chosen!r}, "
        "launch a new run.",
    }


class RunStopped(ChatbotError):
    exit_code = 130
    texts = {
        "run_stopped": "The run {run_id!r} was stopped; what was recorded is kept. Continue with: chatbot-mvp "
        "benchmark resume {run_id}",
    }
