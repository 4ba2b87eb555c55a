"""An App that answers from words alone, and what its uploads leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chatbot_mvp.app import App, build_app
from chatbot_mvp.knowledge_base.uploads import Upload
from chatbot_mvp.settings.model import Settings
from tests.waiting import wait_until


def words_app(folder: Path, **changes: Any) -> App:
    return build_app(Settings(data_dir=folder, retrieval_strategy="LEXICAL", provider="demo", **changes))


def wait(app: App, job_id: str) -> Upload:
    def ended() -> Upload | None:
        upload = app.uploads.upload(job_id)
        return None if upload is None or upload.job.active else upload

    return wait_until(ended, 60, "the end of the upload")


def kept_files(app: App) -> dict[str, bytes]:
    """Path -> content of all files of the knowledge bases."""
    return {str(path): path.read_bytes() for path in app.settings.kb_dir.rglob("*") if path.is_file()}
