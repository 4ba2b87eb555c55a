"""Read one large upload as the app does, split it into chunks, and print seconds and peak memory.

python -m tests.hostile.memory KIND KB_MAX_CHARS     where KIND is a key of ``UPLOADS``
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from pathlib import Path

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.errors import UploadError
from chatbot_mvp.types import Document

MB = 1_000_000
SENTENCE = "Cada persona dispone de 23 días laborables de vacaciones. "
UPLOADS = {
    "one line of words": ("a.md", lambda: SENTENCE.encode() * (10 * MB // 60)),
    "one line without blanks": ("a.md", lambda: b"a" * (10 * MB)),
    "one line of blanks": ("a.md", lambda: b"x" + b" " * (10 * MB - 2) + b"y"),
    "paragraphs": ("a.md", lambda: f"{SENTENCE * 8}\n\n".encode() * (20 * MB // 482)),
    "headings": ("a.md", lambda: b"# a\n\n" * (20 * MB // 5)),
    "short lines": ("a.txt", lambda: b"a\n" * (10 * MB)),
    "rows of a table": ("a.md", lambda: b"| a | b |\n" * (2 * MB)),
    "items": ("a.md", lambda: b"- a\n" * (5 * MB)),
    "sentence ends": ("a.txt", lambda: b". " * (10 * MB)),
    "Latin-1": ("a.txt", lambda: "ñandú ".encode("latin-1") * (20 * MB // 6)),
    "HTML, one line": ("a.html", lambda: b"<p>" + SENTENCE.encode() * (10 * MB // 60) + b"</p>"),
    "HTML, blanks": ("a.html", lambda: b"<p>x" + b" " * (10 * MB) + b"y</p>"),
}


def main(kind: str, max_chars: int) -> None:
    name, make = UPLOADS[kind]
    content = make()
    started = time.process_time()
    try:
        text = parse_upload(name, content, max_chars, 20).text
        chunks = len(chunk_document(Document("d", "d", text)))
    except UploadError as error:
        text, chunks = error.code, 0
    # The peak of this program alone: ru_maxrss begins with the memory of the process that started it.
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("utf-8"))
    used = [int(peak) / 1e3, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3]
    seconds = time.process_time() - started
    print(
        json.dumps(
            {"text": text[:40], "chunks": chunks, "seconds": round(seconds, 1), "mb": [round(mb) for mb in used]}
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
