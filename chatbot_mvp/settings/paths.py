"""Paths of the application's files, derived from the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatbot_mvp.settings.fields import SettingFields
from chatbot_mvp.settings.installation import INSTALLATION
from chatbot_mvp.storage.data_folder import DataFolder


class _Below(property):
    """A path below ``data_dir``."""

    def __init__(self, *parts: str) -> None:
        super().__init__(lambda settings: settings.data_dir.joinpath(*parts))

    if TYPE_CHECKING:
        # A property is typed ``Any``, also where nobody asks for it: at the class.
        def __get__(self, instance: Any, owner: type | None = None, /) -> Path: ...  # type: ignore[override]


class SettingPaths(SettingFields):
    """The settings with the paths derived from ``data_dir``."""

    kb_dir = _Below("kb")
    kb_deleted_dir = _Below("kb_deleted")
    """Folders of deleted knowledge bases, for a day."""
    deleted_conversations_dir = _Below("kb_deleted", ".conversations")
    """Deleted conversations, for a day, as in ``conversations_dir``."""
    deleted_sets_dir = _Below("kb_deleted", ".sets")
    """Deleted question sets, for a day, as in ``kb_dir``."""
    deleted_datasets_dir = _Below("kb_deleted", ".datasets")
    """Folders of deleted data sets, for a day."""
    chroma_dir = _Below("chroma")
    cache_dir = _Below("cache")
    models_dir = _Below("cache", "models")
    """Folder of embedding models that were converted for this machine's engines, or downloaded by fastembed."""
    gguf_dir = _Below("cache", "gguf")
    """Folder of the language models that were downloaded for ``local``."""
    model_jobs_dir = _Below("model_jobs")
    """Folder of the jobs that download language models."""
    datasets_dir = _Below("datasets")
    """Folder of the data sets added by users, one subfolder each."""
    reply_cache_path = _Below("cache", "replies.sqlite")
    contexts_path = _Below("cache", "contexts.sqlite")
    """Cache of the contexts that a language model wrote for chunks."""
    results_dir = _Below("results")
    jobs_dir = _Below("jobs")
    run_lock_path = _Below("jobs", "run.lock")
    """Lock held by the running benchmark run; there is at most one."""
    kb_jobs_dir = _Below("kb_jobs")
    data_jobs_dir = _Below("data_jobs")
    """Folder of the jobs that download or upload data sets."""
    kb_evaluation_jobs_dir = _Below("kb_evaluation_jobs")
    kb_run_lock_path = _Below("kb_evaluation_jobs", "run.lock")
    """Lock held by the running run over a knowledge base; there is at most one."""
    presets_path = _Below("run_presets.json")
    """File of the run presets saved by users."""
    conversations_dir = _Below("conversations")
    visitor_key_path = _Below("visitor.key")
    """Key that signs the visitors' cookies; readable by the server alone."""
    metrics_log_path = _Below("logs", "retrieval_metrics.jsonl")
    errors_log_path = _Below("logs", "errors.jsonl")
    """Log of errors, where the id that a page shows can be looked up."""
    submissions_path = _Below("submissions.jsonl")
    run_notes_path = _Below("run_notes.jsonl")
    """Tags and notes that users added to runs."""

    @property
    def app_settings_path(self) -> Path:
        """Where choices made in Admin are kept: in DATA_DIR, or in the package's folder for the data of a checkout."""
        usual = INSTALLATION.is_checkout and self.data_dir.absolute() == INSTALLATION.data_dir
        return (INSTALLATION.package / "data" if usual else self.data_dir) / "app_settings.json"

    @property
    def data_folder(self) -> DataFolder:
        """DATA_DIR as it is backed up and restored: without what a checkout has in it, and with what lies elsewhere."""
        saved = self.app_settings_path
        program = INSTALLATION.is_checkout and self.data_dir.absolute() == INSTALLATION.data_dir
        return DataFolder(
            self.data_dir,
            {} if saved.parent == self.data_dir else {saved.name: saved},
            frozenset(("samples", *(path.name for path in self.data_dir.glob("*.example*"))) if program else ()),
        )

    @property
    def samples_dir(self) -> Path:
        """Folder of the bundled samples."""
        return INSTALLATION.resources / "samples"
