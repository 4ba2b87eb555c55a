"""What the installed package does: every format is read, a question answered, a run measured, the endpoint served."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.documents.trial import small_files
from tests.documents.made import docx_with, pdf
from tests.installed.conftest import Installed
from tests.loopback import free_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("installed")]

TOKEN = "token-of-the-tests"

FACTS = {
    "molino.md": ("El molino tiene una garantía de treinta y siete meses.", "¿Qué garantía tiene el molino?"),
    "horno.txt": ("El horno se apaga cada noche a las once y diez.", "¿Cuándo se apaga el horno?"),
    "bomba.html": ("La bomba se engrasa con aceite de girasol.", "¿Con qué se engrasa la bomba?"),
    "torno.docx": ("El torno pesa cuatrocientos doce kilos.", "¿Cuánto pesa el torno?"),
    "prensa.pdf": ("La prensa trabaja con noventa bares.", "¿Con cuántos bares trabaja la prensa?"),
}
"""Document -> (what it says, a question)."""


def written(name: str, text: str) -> bytes:
    return {
        ".html": f"<html><body><p>{text}</p></body></html>".encode(),
        ".docx": docx_with(("Normal", text)),
        ".pdf": pdf([[(text, 11.0)]]),
    }.get(Path(name).suffix, text.encode())


def test_its_user_can_change_nothing_of_it(installed: Installed) -> None:
    packages = next((installed.folder / "env" / "lib").glob("python*/site-packages"))
    assert (packages / "chatbot_mvp").is_dir()
    if installed.user is None:
        assert not os.access(packages, os.W_OK)
    else:
        assert packages.stat().st_uid != installed.user
        assert not packages.stat().st_mode & 0o022


def test_doctor_finds_everything_in_order_and_reads_each_format(installed: Installed) -> None:
    told = json.loads(installed.run("doctor", "--json", home="doctors"))
    assert told["readers"] == {"ok": True, "detail": " ".join(small_files())}
    assert [name for name, check in told.items() if not check.get("ok", True)] == []
    assert told["data"]["detail"].startswith(str(installed.folder / "doctors"))


def test_documents_of_every_format_are_read_and_quoted_on_the_command_line_and_over_http(installed: Installed) -> None:
    documents = installed.folder / "documents"
    documents.mkdir()
    for name, (text, _) in FACTS.items():
        (documents / name).write_bytes(written(name, text))
    made = json.loads(installed.run("kb", "create", "Taller", str(documents), "--json"))
    assert made["complete"], made
    text, question = FACTS["prensa.pdf"]
    answer = json.loads(installed.run("kb", "ask", "Taller", question, "--json"))
    assert text.rstrip(".") in answer["answer"], answer
    port = free_port()
    with installed.start("serve", "--port", str(port), SERVE_TOKEN=TOKEN) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until(lambda: process.poll() is not None or answers(f"{address}/health"), 120, "the endpoint", 0.1)
            [kb_id] = {model["id"].rpartition(":")[0] for model in asked(f"{address}/v1/models")["data"]}
            for name, (text, question) in FACTS.items():
                messages = [{"role": "user", "content": question}]
                body = {"model": f"{kb_id}:strict", "messages": messages}
                reply = asked(f"{address}/v1/chat/completions", json.dumps(body).encode())
                assert text.rstrip(".") in reply["choices"][0]["message"]["content"], (name, reply)
        finally:
            process.terminate()


def asked(url: str, body: bytes | None = None) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as reply:
        return json.load(reply)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def test_a_run_on_the_sample_is_measured(installed: Installed) -> None:
    told = json.loads(
        installed.run(
            *("benchmark", "run", "--dataset", "valle_multihop", "--max-queries", "3", "--no-generation", "--json")
        )
    )
    assert told["queries"] == 3, told
