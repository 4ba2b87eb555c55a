"""Paths of the application's files, derived from the data folder."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.settings.fields import SettingFields
from chatbot_mvp.settings.installation import INSTALLATION
from chatbot_mvp.storage.data_folder import DataFolder


class SettingPaths(SettingFields):
    """The settings with the paths derived from ``data_dir``."""

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

    @property
    def kb_dir(self) -> Path:
        return self.data_dir / "kb"

    @property
    def chroma_dir(self) -> Path:
        return self.data_dir / "chroma"

    @property
    def cache_dir(self) -> Path:
        return self.data_dir / "cache"

    @property
    def models_dir(self) -> Path:
        """Folder of embedding models that were converted for this machine's engines, or downloaded by fastembed."""
        return self.cache_dir / "models"

    @property
    def datasets_dir(self) -> Path:
        """Folder of the data sets added by users, one subfolder each."""
        return self.data_dir / "datasets"

    @property
    def reply_cache_path(self) -> Path:
        return self.cache_dir / "replies.sqlite"

    @property
    def contexts_path(self) -> Path:
        """Cache of the contexts that a language model wrote for chunks."""
        return self.cache_dir / "contexts.sqlite"

    @property
    def results_dir(self) -> Path:
        return self.data_dir / "results"

    @property
    def run_lock_path(self) -> Path:
        """Lock held by the running benchmark run; there is at most one."""
        return self.jobs_dir / "run.lock"

    @property
    def kb_run_lock_path(self) -> Path:
        """Lock held by the running run over a knowledge base; there is at most one."""
        return self.kb_evaluation_jobs_dir / "run.lock"

    @property
    def jobs_dir(self) -> Path:
        return self.data_dir / "jobs"

    @property
    def kb_jobs_dir(self) -> Path:
        return self.data_dir / "kb_jobs"

    @property
    def data_jobs_dir(self) -> Path:
        """Folder of the jobs that download or upload data sets."""
        return self.data_dir / "data_jobs"

    @property
    def presets_path(self) -> Path:
        """File of the run presets saved by users."""
        return self.data_dir / "run_presets.json"

    @property
    def kb_evaluation_jobs_dir(self) -> Path:
        return self.data_dir / "kb_evaluation_jobs"

    @property
    def conversations_dir(self) -> Path:
        return self.data_dir / "conversations"

    @property
    def visitor_key_path(self) -> Path:
        """Key that signs the visitors' cookies; readable by the server alone."""
        return self.data_dir / "visitor.key"

    @property
    def metrics_log_path(self) -> Path:
        return self.data_dir / "logs" / "retrieval_metrics.jsonl"

    @property
    def errors_log_path(self) -> Path:
        """Log of errors, where the id that a page shows can be looked up."""
        return self.data_dir / "logs" / "errors.jsonl"

    @property
    def submissions_path(self) -> Path:
        return self.data_dir / "submissions.jsonl"

    @property
    def run_notes_path(self) -> Path:
        """Tags and notes that users added to runs."""
        return self.data_dir / "run_notes.jsonl"
