"""Without a provider nothing is sent to other machines: a tour through the product that records every attempt.

Each process of the tour runs in a network namespace that has loopback only. There the kernel counts every packet
without a route, from any library. An audit hook in Python names what was tried, look-ups of names included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings

SAMPLE = PROJECT_ROOT / "data" / "samples"
_UP = "import fcntl,socket,struct;fcntl.ioctl(socket.socket(),0x8914,struct.pack('16sh',b'lo',0x41))"
_HOOK = """
import json, os, sys

def local(host):
    host = host.decode() if isinstance(host, bytes) else str(host or "")
    return host in ("", "localhost", "0.0.0.0", "::", "::1", os.uname().nodename) or host.startswith(("127.", "/"))

def hook(event, args):
    if event == "socket.connect" or event == "socket.sendto":
        address = args[1]
        host = address[0] if isinstance(address, tuple) else ""
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = args[0] if event != "socket.gethostbyaddr" else args[0]
    else:
        return
    if not local(host):
        with open(os.environ["SILENCE_LOG"], "a") as file:
            file.write(json.dumps([event, str(host), sys.argv[:3]]) + "\\n")

sys.addaudithook(hook)
"""
_COUNTERS = (
    "import re;a=open('/proc/net/snmp').read();b=open('/proc/net/snmp6').read();"
    "h,v=[l.split() for l in a.splitlines() if l.startswith('Ip:')];"
    "n=int(v[h.index('OutNoRoutes')])+int(re.search(r'Ip6OutNoRoutes\\s+(\\d+)',b).group(1));print('NOROUTE',n)"
)

Tour = Callable[[str, Path], tuple[list[list[object]], int, str]]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    """Shell commands -> (attempts that Python made, packets without a route, output), in a namespace of their own."""
    possible = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False)
    if possible.returncode:
        pytest.skip(f"needs network namespaces: {possible.stderr.decode().strip()}")
    hook = tmp_path_factory.mktemp("hook")
    (hook / "sitecustomize.py").write_text(_HOOK)

    def run(commands: str, folder: Path) -> tuple[list[list[object]], int, str]:
        known = {name.upper() for name in Settings.model_fields}
        environment = {name: value for name, value in os.environ.items() if name not in known}
        environment |= {
            "PYTHONPATH": f"{hook}:{PROJECT_ROOT}",
            "SILENCE_LOG": str(folder / "attempts.jsonl"),
            "DATA_DIR": str(folder / "data"),
            "HOME": str(folder),
        }
        script = f'set -e\nPY="{sys.executable}"\n$PY -c "{_UP}"\n{commands}\n$PY - <<"END"\n{_COUNTERS}\nEND\n'
        done = subprocess.run(
            ["unshare", "-rn", "bash", "-c", script],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=160,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        log = folder / "attempts.jsonl"
        attempts = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return attempts, int(done.stdout.rsplit("NOROUTE", 1)[1]), done.stdout

    return run


def cli(arguments: str) -> str:
    return f"$PY -m chatbot_mvp.cli {arguments}"


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('192.0.2.1', 443), 1)",
        "socket.getaddrinfo('example.org', 443)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
    ],
)
def test_an_attempt_would_be_noticed(tour: Tour, tmp_path: Path, attempt: str) -> None:
    attempts, lost, _ = tour(f'$PY -c "import socket\ntry: {attempt}\nexcept OSError: pass"', tmp_path)
    assert [row[1] for row in attempts][:1] in (["192.0.2.1"], ["example.org"])
    assert lost > 0 or "getaddrinfo" in attempt  # a resolver on loopback is asked without a route to elsewhere


def test_a_question_on_the_command_line_stays_on_the_machine(tour: Tour, tmp_path: Path) -> None:
    ask = cli(f"kb ask {next(SAMPLE.rglob('*.md'))} '¿Cuántos días de vacaciones hay?' --json")
    attempts, lost, out = tour(f"RETRIEVAL_STRATEGY=LEXICAL {ask}", tmp_path)
    assert '"outcome"' in out
    assert (attempts, lost) == ([], 0)


_SERVE = """
SERVE_TOKEN=token-of-the-tests $PY -m chatbot_mvp.cli serve --port 8699 2>serve.log & S=$!
$PY - <<'END'
import json, time, urllib.request
def get(path, body=None):
    headers = {"Authorization": "Bearer token-of-the-tests", "Content-Type": "application/json"}
    request = urllib.request.Request("http://127.0.0.1:8699" + path, body and json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request, timeout=60))
for _ in range(300):
    try:
        if get("/health") == {"status": "ok"}: break
    except OSError: pass
    time.sleep(0.2)
model = get("/v1/models")["data"][0]["id"]
question = [{"role": "user", "content": "¿Cuántos días de vacaciones hay?"}]
print("SERVED", get("/v1/chat/completions", {"model": model, "messages": question})["outcome"])
END
kill $S; wait $S || true
"""
_PAGES = """
$PY -m chatbot_mvp.cli ui --port 8698 >pages.log 2>&1 & S=$!
$PY - <<'END'
import time, urllib.request
for _ in range(300):
    try:
        urllib.request.urlopen("http://127.0.0.1:8698/_stcore/health", timeout=2); break
    except OSError: time.sleep(0.2)
from websockets.exceptions import InvalidStatus
from tests.ui.test_start_of_pages import first_page
try: first_page(8698, "127.0.0.1:8698", "http://evil.example")
except InvalidStatus: print("REFUSED")
print("PAGE", first_page(8698, "127.0.0.1:8698")[0])
END
kill $S; wait $S || true
"""


@pytest.mark.slow
def test_the_pages_stay_on_the_machine_when_a_page_of_another_site_knocks(tour: Tour, tmp_path: Path) -> None:
    attempts, lost, out = tour(_PAGES, tmp_path)
    assert "REFUSED\nPAGE False" in out
    assert (attempts, lost) == ([], 0)


@pytest.mark.slow
def test_the_whole_tour_stays_on_the_machine(tour: Tour, tmp_path: Path) -> None:
    """The knowledge base is in ChromaDB, and the run searches exactly: the two places of vectors."""
    steps: Sequence[str] = (
        cli(f"kb ask {next(SAMPLE.rglob('*.md'))} '¿Cuántos días de vacaciones hay?' --json"),
        cli("datasets list"),
        cli("benchmark run --max-queries 3 --json"),
        cli("doctor"),
        _SERVE,
        _PAGES,
    )
    attempts, lost, out = tour("\n".join(steps), tmp_path)
    assert "SERVED" in out
    assert "REFUSED\nPAGE False" in out
    assert (attempts, lost) == ([], 0)
