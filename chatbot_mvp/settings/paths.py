"""Where things lie, below the data folder."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.settings.fields import SettingFields
from chatbot_mvp.settings.installation import INSTALLATION


class SettingPaths(SettingFields):
    """Settings, and the paths that follow from ``data_dir``."""

    @property
    def app_settings_path(self) -> Path:
        """Where choices made in Admin are kept: in DATA_DIR, or in the package's folder for the data of a checkout."""
        usual = INSTALLATION.is_checkout and self.data_dir.absolute() == INSTALLATION.data_dir
        return (INSTALLATION.package / "data" if usual else self.data_dir) / "app_settings.json"

    @property
    def samples_dir(self) -> Path:
        """Folder of the samples that come with the project."""
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
    def datasets_dir(self) -> Path:
        """Data sets of one's own, a folder each."""
        return self.data_dir / "datasets"

    @property
    def reply_cache_path(self) -> Path:
        return self.cache_dir / "replies.sqlite"

    @property
    def contexts_path(self) -> Path:
        """Where contexts that a language model wrote for chunks are kept."""
        return self.cache_dir / "contexts.sqlite"

    @property
    def results_dir(self) -> Path:
        return self.data_dir / "results"

    @property
    def run_lock_path(self) -> Path:
        """Held by the one run that is at work."""
        return self.jobs_dir / "run.lock"

    @property
    def jobs_dir(self) -> Path:
        return self.data_dir / "jobs"

    @property
    def kb_jobs_dir(self) -> Path:
        return self.data_dir / "kb_jobs"

    @property
    def data_jobs_dir(self) -> Path:
        """Data sets on their way."""
        return self.data_dir / "data_jobs"

    @property
    def presets_path(self) -> Path:
        """Presets of runs that people saved."""
        return self.data_dir / "run_presets.json"

    @property
    def kb_evaluation_jobs_dir(self) -> Path:
        return self.data_dir / "kb_evaluation_jobs"

    @property
    def conversations_dir(self) -> Path:
        return self.data_dir / "conversations"

    @property
    def metrics_log_path(self) -> Path:
        return self.data_dir / "logs" / "retrieval_metrics.jsonl"

    @property
    def errors_log_path(self) -> Path:
        """Where an error's id that a page shows is found again."""
        return self.data_dir / "logs" / "errors.jsonl"

    @property
    def submissions_path(self) -> Path:
        return self.data_dir / "submissions.jsonl"

    @property
    def run_notes_path(self) -> Path:
        """Tags and notes that people gave runs."""
        return self.data_dir / "run_notes.jsonl"
