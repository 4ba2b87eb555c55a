"""Upload a PDF of many pages at the default limits, and ask for what one of its last pages says.

python benchmarks/long_pdf.py [--pages 1400] [--strategy LEXICAL,BRIDGE_HYBRID] [--until-vectors]

The text is made up: English function words and 40,000 words after Zipf's law, with one section about a command on page
1328 (or the last page, if there are fewer). Each strategy is measured in a process of its own, with the real embedding
model. Printed as one JSON line: seconds until the file is read and can be asked, seconds of the first answer, peak
memory in MB of this process and of the reader of the PDF, and, with ``--until-vectors``, seconds and peak memory when
all vectors are there.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path

from chatbot_mvp.app import build_app
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import STOP_WORDS
from tests.documents.made import Line, pdf

PAGE = 1_328
QUESTION = "How do I power off a virtual machine from the ESXi shell?"
COMMAND = "vim-cmd vmsvc/power.off"
_SECTION: list[Line] = [
    ("Shut Down a Virtual Machine", 16),
    ("To power off a virtual machine from the ESXi shell, list the machines with vim-cmd", 9),
    (f"vmsvc/getallvms, then run the command {COMMAND} followed by the identifier of", 9),
    ("the machine. The guest must have no unsaved data.", 9),
    (" ", 7),
]
_SYLLABLES = [c + v + e for c in "bcdfglmnprstv" for v in "aeiou" for e in ("", "", "r", "n", "s", "l")]


def made_pdf(pages: int, seed: int = 7) -> bytes:
    """Return a PDF whose pages have some 2,300 characters each."""
    rng = random.Random(seed)
    words = sorted({"".join(rng.choice(_SYLLABLES) for _ in range(rng.randint(2, 4))) for _ in range(40_000)})
    rng.shuffle(words)
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    function_words = sorted(STOP_WORDS["en"])

    def line(chars: int = 90) -> str:
        found: list[str] = []
        while sum(map(len, found)) + len(found) < chars:
            own = rng.random() < 0.45
            found.append(rng.choice(function_words) if own else rng.choices(words, cum_weights=weights)[0])
        return " ".join(found)

    made = []
    for number in range(1, pages + 1):
        lines: list[Line] = [(f"{line(20).title()} {number}", 16)] if number % 3 == 0 else []
        for paragraph in range(5):
            lines += [(line() + ("." if row == 4 else ""), 9) for row in range(5)]
            lines += [(" ", 7)] if paragraph < 4 else []
        made.append([*_SECTION, *lines] if number == min(PAGE, pages) else lines)
    return pdf(made)


def measure(path: Path, strategy: str, until_vectors: bool) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as data:
        app = build_app(load_settings(data_dir=Path(data), retrieval_strategy=strategy, provider="demo"))
        began, cpu = time.perf_counter(), time.process_time()
        job = app.uploads.take([("manual.pdf", path.read_bytes())])
        while (upload := app.uploads.upload(job)) is None or upload.job.active:
            time.sleep(0.1)
        [state] = upload.files
        if not upload.kb_id:
            raise SystemExit(f"refused: {state}")
        row: dict[str, object] = {"strategy": strategy, "pages": state.pages, "chars": state.chars, "cut": state.cut}
        row["upload, s"] = round(time.perf_counter() - began, 1)
        row["upload, s CPU"] = round(time.process_time() - cpu, 1)
        asked = time.perf_counter()
        answered = app.answering.ask(upload.kb_id, QUESTION, UserContext(language="en"))
        row["first answer, s"] = round(time.perf_counter() - asked, 2)
        source = answered.sources[0]
        place = app.kbs.place(upload.kb_id, source.chunk.start)
        row |= {"command found": COMMAND in answered.text, "page": place.page if place else None}
        row |= {"vectors": answered.vectors_share, "peak, MB": _peak(resource.RUSAGE_SELF)}
        row["peak of the reader, MB"] = _peak(resource.RUSAGE_CHILDREN)
        if until_vectors:
            app.kbs.pipeline(upload.kb_id)
            row["all vectors, s"] = round(time.perf_counter() - began)
            row["peak with vectors, MB"] = _peak(resource.RUSAGE_SELF)
            asked = time.perf_counter()
            app.answering.ask(upload.kb_id, QUESTION, UserContext(language="en"))
            row["answer with vectors, s"] = round(time.perf_counter() - asked, 2)
        return row


def _peak(who: int) -> int:
    return round(resource.getrusage(who).ru_maxrss / 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_400)
    parser.add_argument("--strategy", default="LEXICAL,BRIDGE_HYBRID")
    parser.add_argument("--until-vectors", action="store_true")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.file:
        print(json.dumps(measure(given.file, given.strategy, given.until_vectors)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manual.pdf"
        path.write_bytes(made_pdf(given.pages))
        for strategy in given.strategy.split(","):
            command = [sys.executable, __file__, "--strategy", strategy, "--file", str(path)]
            subprocess.run([*command, *(["--until-vectors"] if given.until_vectors else [])], check=True)


if __name__ == "__main__":
    main()
