"""What reads scanned pages of PDFs: only where the package ``rapidocr`` is installed."""

from __future__ import annotations

from chatbot_mvp.documents.reading.reader import PageReader

READER = PageReader(
    "ocr",
    ".pdf",
    "chatbot_mvp.wings.ocr.pages:read",
    # A dense page takes 15 s on an idle core; both cores count, and a busy machine takes longer.
    cpu_seconds_per_page=90,
    memory_mb=2_500,
    package="rapidocr",
)
