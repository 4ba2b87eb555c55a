"""The files of ``deploy/`` name commands, settings and files that exist, and restrict what they start."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.docs.test_commands import parsed
from tests.loopback import LoopbackServer, free_ports

DEPLOY = PROJECT_ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
IMAGE = (DEPLOY / "Containerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
OURS = ("pages", "endpoint")
RAY = ("ray", "ray-worker")
PROFILES = ("objects", "index", "ray")
MOST_EXPOSED = 2.0
"""Of 10, by ``systemd-analyze security``. What is left is the network, and machine code that a library writes."""


def test_every_command_that_is_started_exists_with_its_options() -> None:
    image = json.loads(next(line[4:] for line in IMAGE.splitlines() if line.startswith("CMD ")))
    starts = [["chatbot-mvp", *image], *(["chatbot-mvp", *COMPOSE["services"][name]["command"]] for name in OURS)]
    starts += [re.search(r"ExecStart=/opt/chatbot-mvp/bin/(.+)", unit.read_text())[1].split() for unit in UNITS]  # type: ignore[index]
    assert len(starts) == 5
    for words in starts:
        parsed(" ".join(words))


def test_every_setting_that_is_set_exists() -> None:
    known = {name.upper() for name in Settings.model_fields}
    named = {name for service in (*OURS, *RAY) for name in COMPOSE["services"][service]["environment"]}
    named -= {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"}  # Ray's own
    named |= set(re.findall(r"\b([A-Z]+_[A-Z_]+)=", IMAGE)) - {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}
    for unit in UNITS:
        named |= set(re.findall(r"Environment=(\w+)", unit.read_text()))
    page = (PROJECT_ROOT / "docs" / "operate" / "deploy.md").read_text()
    named |= set(re.findall(r"^([A-Z_]+)=", page.partition("```ini")[2].partition("```")[0], re.MULTILINE))
    assert "DATA_DIR" in named
    assert named - known == set()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_valid_and_restricted(unit: Path, tmp_path: Path) -> None:
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/chatbot-mvp/bin/chatbot-mvp", "/bin/true"))
    checked = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (checked.returncode, unit.name in checked.stderr) == (0, False), checked.stderr
    command = ["systemd-analyze", "security", "--offline=true", str(copy)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    exposed = re.search(r"exposure level for .+: ([\d.]+)", told)
    assert exposed, told
    assert float(exposed[1]) <= MOST_EXPOSED


def test_both_units_are_restricted_alike() -> None:
    one, two = (unit.read_text().partition("User=")[2] for unit in UNITS)
    assert one == two


@pytest.mark.parametrize("name", [*OURS, *RAY])
def test_a_container_writes_its_volume_and_nothing_else(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert (service["cap_drop"], service["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
    assert service["tmpfs"] == ["/tmp"]
    assert [place for place in service["volumes"] if not place.endswith(":ro")] == ["data:/data"]
    assert re.search(r"^USER [1-9]\d+:[1-9]\d+$", IMAGE, re.MULTILINE), "a number that is not root's"


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="needs docker-compose (Debian has it)")
def test_the_compose_file_keeps_to_its_schema(tmp_path: Path) -> None:
    copy = tmp_path / "deploy" / "compose.yaml"
    copy.parent.mkdir()
    copy.write_text((DEPLOY / "compose.yaml").read_text())
    (copy.parent / ".env").write_text("SITE=chat.example.org\nSERVE_TOKEN=token-of-the-tests\n")
    profiles = [f"--profile={name}" for name in PROFILES]
    command = ["docker-compose", "--project-directory", str(copy.parent), "-f", str(copy), *profiles, "config"]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=copy.parent, check=False)
    assert checked.returncode == 0, checked.stderr
    told = yaml.safe_load(checked.stdout)["services"]
    assert told["pages"]["environment"]["ALLOWED_HOSTS"] == "chat.example.org"
    assert told["endpoint"]["environment"]["SERVE_TOKEN"] == "token-of-the-tests"
    assert set(told) == {*OURS, *RAY, "proxy", "objects", "index"}
    assert told["proxy"]["networks"]["inside"]["ipv4_address"] == told["pages"]["environment"]["TRUSTED_PROXIES"]


@pytest.mark.parametrize("name", [*OURS, *RAY])
def test_a_container_has_time_to_end(name: str) -> None:
    assert COMPOSE["services"][name]["stop_grace_period"] == "60s"


def test_profiles_add_what_a_team_may_not_need() -> None:
    services = COMPOSE["services"]
    assert {name: found["profiles"] for name, found in services.items() if "profiles" in found} == {
        "objects": ["objects"],
        "index": ["index"],
        **{name: ["ray"] for name in RAY},
    }
    for name in ("objects", "index"):
        assert (services[name]["read_only"], services[name]["cap_drop"]) == (True, ["ALL"])
        assert "ports" not in services[name], "reachable for the other containers only"


def test_object_store_and_index_are_those_of_the_kubernetes_manifests() -> None:
    """One of the two is started in a test, so the other must be the same program with the same options."""
    folder = DEPLOY / "kubernetes"
    for name in ("objects", "index"):
        documents = yaml.safe_load_all((folder / f"{name}.yaml").read_text())
        [pod] = [found["spec"]["template"]["spec"] for found in documents if found["kind"] == "StatefulSet"]
        [there], here = pod["containers"], COMPOSE["services"][name]
        assert here["image"] == there["image"]
        assert set(here["environment"]) == {entry["name"] for entry in there["env"]}
        if name == "index":
            assert here["command"] == there["args"]
            continue
        weed = " ".join(there["command"]).replace("-dir=/data", "-dir=/objects")
        assert here["command"][0].startswith(f"{weed} &")
        script = re.sub(r"\s+", " ", there["lifecycle"]["postStart"]["exec"]["command"][2])
        assert script in here["command"][0]


def test_the_settings_of_the_profiles_lead_to_their_containers() -> None:
    page = (PROJECT_ROOT / "docs" / "operate" / "deploy.md").read_text()
    block = page.partition("### More than pages and endpoint")[2].partition("```ini")[2].partition("```")[0]
    given = dict(line.split("=", 1) for line in block.splitlines() if "=" in line and not line.startswith("#"))
    assert given["MINIO_ENDPOINT"] == "http://objects:8333"
    assert given["MILVUS_ADDRESS"] == "http://index:19530"
    assert given["MILVUS_TOKEN"] == f"root:{given['INDEX_PASSWORD']}"
    known = {name.upper() for name in Settings.model_fields}
    used = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    assert set(given) - known <= used
    assert {"EXTRAS", "RAY_AUTH_TOKEN"} <= set(given)


def test_the_image_is_built_from_files_that_the_build_is_given() -> None:
    [copied] = re.findall(r"^COPY (?!--)(.+) /build/$", IMAGE, re.MULTILINE)
    given = {line[1:] for line in (PROJECT_ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {path.removesuffix("/*.whl") for path in copied.split()} == given


class _Healthy(BaseHTTPRequestHandler):
    healthy_path = ""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == self.healthy_path else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("runs", "path"), [("8501", "/_stcore/health"), ("8600", "/health"), ("", "")])
def test_the_health_check_passes_if_pages_or_endpoint_are_healthy(runs: str, path: str) -> None:
    [command] = re.findall(r"^HEALTHCHECK .*CMD (\[.+\])$", IMAGE, re.MULTILINE)
    program, option, code = json.loads(command)
    assert (program, option) == ("python3", "-c")
    handler = type("Handler", (_Healthy,), {"healthy_path": path})
    with LoopbackServer(handler) as server:
        ports = dict(zip(("8501", "8600"), map(str, free_ports(2)), strict=True))
        if runs:
            ports[runs] = str(server.server_port)
        for ours, here in ports.items():
            code = code.replace(f":{ours}/", f":{here}/")
        checked = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (checked.returncode == 0) == bool(runs)
