"""The proxies of ``deploy/``, started with its configuration on ports of loopback and a certificate of our own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.loopback import free_ports
from tests.tls import own_certificate
from tests.waiting import wait_until

SITE = "chat.example.org"
"""The name in ``deploy/nginx.conf``."""
DEPLOY = PROJECT_ROOT / "deploy"


def _caddy(folder: Path, port: int, _: int, pages: int, endpoint: int, certificate: Path) -> list[str]:
    text = (DEPLOY / "Caddyfile").read_text()
    # As the file's first lines say for a name inside an organisation.
    text = text.replace("{$SITE} {\n", f"{{$SITE}} {{\n\ttls {certificate} {certificate}\n")
    # A port of its own, and none for the redirection.
    (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n\tauto_https disable_redirects\n}}\n{text}")
    os.environ.update(SITE=f"{SITE}:{port}", PAGES=f"127.0.0.1:{pages}", ENDPOINT=f"127.0.0.1:{endpoint}")
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


def _nginx(folder: Path, port: int, plain: int, pages: int, endpoint: int, certificate: Path) -> list[str]:
    text = (DEPLOY / "nginx.conf").read_text()
    for ours, here in (
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("127.0.0.1:8501", f"127.0.0.1:{pages}"),
        ("127.0.0.1:8600", f"127.0.0.1:{endpoint}"),
        (f"/etc/ssl/{SITE}.pem", str(certificate)),
        (f"/etc/ssl/{SITE}.key", str(certificate)),
    ):
        assert ours in text, ours
        text = text.replace(ours, here)
    places = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"daemon off; pid {folder}/pid; events {{}} http {{ access_log off; {places}\n{text}}}"
    (folder / "nginx.conf").write_text(whole)
    command = ["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    return command


PROXIES: dict[str, Callable[..., list[str]]] = {"caddy": _caddy, "nginx": _nginx}


@contextmanager
def proxy(name: str, folder: Path, pages: int, endpoint: int) -> Iterator[int]:
    """Run a proxy in front of two ports until the block ends; give its own port, which speaks TLS."""
    if shutil.which(name) is None:
        pytest.skip(f"needs {name} (Debian: apt-get install {name})")
    port, plain = free_ports(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        for variable in ("SITE", "PAGES", "ENDPOINT"):
            patch.setenv(variable, "")
        command = PROXIES[name](folder, port, plain, pages, endpoint, own_certificate(folder, SITE))
        with (folder / "proxy.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)

    def listens() -> bool:
        assert process.poll() is None, (folder / "proxy.log").read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    try:
        wait_until(listens, 20, name, 0.02)
        yield port
    finally:
        process.terminate()
        process.wait(10)
