"""The image: built from the wheel with buildah, and run with podman as the compose file and the manifests run it.

No registry is needed: the base is a Debian that debootstrap makes, under the name of the official image.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.waiting import wait_until

PROGRAMS = ("buildah", "podman", "debootstrap", "runc")
PATH = f"{os.environ['PATH']}:/usr/sbin"
MISSING = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2_400),
    pytest.mark.xdist_group("image"),  # one worker, because building it takes minutes
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)} (Debian has them)"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: debootstrap makes the base image"),
]

QUESTION = "¿Cuántos días laborables de vacaciones tiene cada persona?"
ASK = """
import json, sys, urllib.request
def ask(path, body=None):
    headers = {"Authorization": "Bearer token-of-the-tests", "Content-Type": "application/json"}
    request = urllib.request.Request("http://127.0.0.1:8600/v1/" + path, body, headers)
    return json.load(urllib.request.urlopen(request, timeout=60))
model = ask("models")["data"][0]  # the knowledge base in strict mode
messages = [{"role": "user", "content": sys.argv[1]}]
body = json.dumps({"model": model["id"], "messages": messages}).encode()
print(ask("chat/completions", body)["choices"][0]["message"]["content"])
"""


@dataclass(frozen=True)
class Engine:
    """buildah and podman with images and containers in a folder of their own."""

    folder: Path
    state: Path
    """podman refuses a path of more than 50 characters."""

    def _run(self, program: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        places = ("--root", str(self.folder / "images"), "--runroot", str(self.state))
        # crun, the default, refuses a machine with cgroups of both versions.
        runtime = ("--runtime", str(shutil.which("runc", path=PATH))) if program == "podman" else ()
        command = [program, *places, "--storage-driver", "overlay", *runtime, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PATH": PATH})
        if check:
            assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return done

    def build(self, *words: str) -> str:
        return self._run("buildah", *words).stdout.strip()

    def podman(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self._run("podman", *words, check=check)

    def start(self, name: str, *words: str) -> None:
        """Start a container as the compose file does, with no network but its own loopback."""
        limits = [f"--ulimit={name}={limit(name)}" for name in ("nofile", "nproc")]
        restricted = ["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--tmpfs=/tmp"]
        # Regular checks need systemd; the tests call the check themselves.
        self.podman(
            "run", "-d", "--health-interval=disable", "--network=none", f"--name={name}", *limits, *restricted, *words
        )

    def inside(self, name: str, *words: str) -> str:
        return self.podman("exec", name, *words).stdout


def limit(name: str) -> str:
    """Podman's default may be more than this process may grant."""
    most = min(
        4_096, *(value for value in resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}")) if value > 0)
    )
    return f"{most}:{most}"


def pip_settings() -> str:
    """The machine's package index and certificate as a file of settings; not part of the image."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    kept = re.findall(r"\.(index-url|cert|proxy)='(.*)'$", listed.stdout, re.MULTILINE)
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in dict(kept).items())


@pytest.fixture(scope="module")
def engine(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """With the image ``chatbot-mvp`` and the extras of the manifests."""
    folder = tmp_path_factory.mktemp("image")
    base, context, pip = folder / "base", folder / "context", folder / "pip.conf"
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=python3,python3-venv,ca-certificates", "bookworm", str(base)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": PATH},
    )
    if made.returncode:
        shutil.rmtree(base, ignore_errors=True)
        pytest.skip(f"needs a mirror of Debian: {made.stdout[-300:]}")
    engine = Engine(folder, Path(tempfile.mkdtemp(dir="/tmp")))
    image = (PROJECT_ROOT / "deploy" / "Containerfile").read_text("utf-8")
    [name] = re.findall(r"^ARG BASE=(\S+)", image, re.MULTILINE)
    container = engine.build("from", "scratch")
    engine.build("add", container, str(base), "/")
    engine.build("commit", "--rm", container, name)
    (context / "deploy" / "dist").mkdir(parents=True)
    shutil.copy(wheel, context / "deploy" / "dist")
    shutil.copy(PROJECT_ROOT / "requirements.txt", context)
    shutil.copy(PROJECT_ROOT / ".dockerignore", context)
    pip.write_text(pip_settings())
    engine.build(
        *("bud", "--pull-never", "--format=docker", "--isolation=chroot", "--build-arg=EXTRAS=auth,s3,milvus,ray"),
        *(f"--volume={pip}:/etc/pip.conf:ro", "--volume=/etc/ssl/certs:/etc/ssl/certs:ro"),
        *("-f", str(PROJECT_ROOT / "deploy" / "Containerfile"), "-t", "chatbot-mvp", str(context)),
    )
    yield engine
    engine.podman("rm", "--all", "--force", "--time=2", check=False)
    subprocess.run(["umount", folder / "images" / "overlay"], capture_output=True, check=False)
    for place in (base, folder / "images", engine.state):
        shutil.rmtree(place, ignore_errors=True)


def test_pages_and_endpoint_start_read_only_without_root_and_are_healthy(engine: Engine) -> None:
    for name, words in {"pages": ["ui"], "endpoint": ["serve"]}.items():
        engine.start(
            name,
            "-v=data:/data",
            "-e=SERVE_TOKEN=token-of-the-tests",
            "localhost/chatbot-mvp",
            *words,
            "--host=0.0.0.0",
        )
        wait_until(lambda name=name: engine.podman("healthcheck", "run", name, check=False).returncode == 0, 60, name)
        assert engine.inside(name, "id", "-u").strip() == "10001"
        assert "Read-only file system" in engine.podman("exec", name, "touch", "/srv/file", check=False).stderr


def test_a_container_answers_a_question_over_http_from_a_document_on_its_volume(engine: Engine) -> None:
    handbook = next((PROJECT_ROOT / "data" / "samples" / "kb").glob("*.md"))
    mounts = ["-v=asked:/data", f"-v={handbook}:/in/handbook.md:ro"]
    engine.start(
        "asked", *mounts, "-e=SERVE_TOKEN=token-of-the-tests", "localhost/chatbot-mvp", "serve", "--host=0.0.0.0"
    )
    saved = json.loads(engine.inside("asked", "chatbot-mvp", "kb", "ask", "/in/handbook.md", QUESTION, "--json"))
    assert "23 días" in saved["answer"]
    wait_until(lambda: engine.podman("healthcheck", "run", "asked", check=False).returncode == 0, 60, "the endpoint")
    assert "23 días" in engine.inside("asked", "python3", "-c", ASK, QUESTION)


def test_the_image_holds_a_ray_head_that_listens_where_the_manifest_probes(engine: Engine) -> None:
    documents = yaml.safe_load_all((PROJECT_ROOT / "deploy" / "kubernetes" / "ray.yaml").read_text("utf-8"))
    head = next(found for found in documents if found["kind"] == "RayCluster")["spec"]["headGroupSpec"]
    # As the operator writes the command.
    options = " ".join(f"--{name}={value}" for name, value in head["rayStartParams"].items())
    [container] = head["template"]["spec"]["containers"]
    token = ["-e=RAY_AUTH_MODE=token", f"-e=RAY_AUTH_TOKEN={'a' * 64}", "-e=RAY_USAGE_STATS_ENABLED=0"]
    command = f"ulimit -n 4096; ray start --head --block {options}"
    engine.start("ray", "-v=runs:/data", *token, "--entrypoint=bash", "localhost/chatbot-mvp", "-c", command)
    ports = [port["containerPort"] for port in container["ports"]]
    connect = f"import socket\nfor port in {ports}: socket.create_connection(('127.0.0.1', port), 2).close()"
    wait_until(lambda: engine.podman("exec", "ray", "python3", "-c", connect, check=False).returncode == 0, 60, "Ray")
    assert (
        engine.podman("exec", "ray", "ray", "health-check", "--address", "127.0.0.1:6379", check=False).returncode == 0
    )
