"""Uses every example of docs/develop/plugins.md once, and prints a line of JSON for each. Runs in a process of its own.

The current folder has what the examples read: ``volcanoes``, ``garden``, ``talk.sbv``, ``scan.pdf`` and ``faq.csv``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from chatbot_mvp.cli.main import main
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.settings.model import load_settings


def command(*arguments: str) -> None:
    sys.argv = ["chatbot-mvp", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, arguments


def say(value: Any) -> None:
    print(json.dumps(value))


QUESTION = "When does the gate of the garden open?"
command("benchmark", "run", "--json")
[run] = (Path(os.environ["DATA_DIR"]) / "results").iterdir()
command("benchmark", "export", run.name, "--format", "zip", "--json")
os.environ.update(PROVIDER="canned", CANNED_MODEL_NAME="guide", RETRIEVAL_STRATEGY="LEXICAL", RERANKER_ENABLED="false")
command("kb", "ask", "folder:garden", QUESTION, "--json")
os.environ["PROVIDER"] = "demo"
command("kb", "ask", "talk.sbv", QUESTION, "--json")
command("kb", "ask", "scan.pdf", QUESTION, "--json")
pages: list[tuple[int, int]] = []
parsed = parse_upload("scan.pdf", Path("scan.pdf").read_bytes(), 10_000, 10, on_page=lambda *done: pages.append(done))
say({"pages": pages, "text": parsed.text, "starts": parsed.page_starts, "empty": parsed.empty_pages})
command("datasets", "fetch", "faq", "--base-url", "faq.csv", "--json")
command("benchmark", "run", "--dataset", "faq", "--no-generation", "--json")
command("tally")
settings = load_settings()
say({"masked": settings.model_dump(mode="json")["canned_api_key"], "secret": settings.secret_values})
command("plugins", "--json")
page = AppTest.from_file(str(Path(os.environ["ROOT"]) / "streamlit_app" / "Inicio.py"), default_timeout=60)
page.session_state["language"] = "en"
page.run()
page.switch_page("views/3_Admin.py")
page.query_params["tab"] = "tally"
page.run()
assert not page.exception, page.exception
assert not page.error, page.error
say({"tabs": [tab.label for tab in page.tabs], "metrics": {metric.label: metric.value for metric in page.metric}})
