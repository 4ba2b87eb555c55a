"""The example for Slurm starts a cluster and carries out a run, or starts everything, and ends what it started."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.evaluation.benchmark.judge_stub import ModelStub
from tests.s3_server import low_ports
from tests.waiting import wait_until

SLURM = PROJECT_ROOT / "deploy" / "slurm.sh"

PORT = "6399"
"""Below the ports that Ray gives to workers."""

SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""
"""Stands in for Slurm's: carries out the command on this machine."""


def test_bash_reads_the_slurm_script() -> None:
    subprocess.run(["bash", "-n", str(SLURM)], check=True)


@pytest.mark.parametrize(("argument", "missing"), [("run", "VENV"), ("everything", "MINIO_ACCESS_KEY")])
def test_the_slurm_script_names_what_is_not_set(argument: str, missing: str, tmp_path: Path) -> None:
    environment = slurm_environment(tmp_path) | {"VENV": "" if missing == "VENV" else str(tmp_path / "venv")}
    done = subprocess.run(
        ["bash", str(SLURM), argument], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, f"{missing}: " in done.stderr) == (1, True), done.stderr


def slurm_environment(folder: Path) -> dict[str, str]:
    """The environment of a job on this machine. Slurm's own programs are replaced by two that work without it."""
    programs = folder / "venv" / "bin"
    programs.mkdir(parents=True)
    milvus = "import sys; from milvus_lite.cmdline import main; sys.exit(main())"
    for name, content in {
        "srun": SRUN,
        "scontrol": "#!/bin/bash\necho this-node\n",
        "python": f'#!/bin/bash\nexec {sys.executable} "$@"\n',
        "ray": f'#!/bin/bash\nexec {sys.executable} -m ray.scripts.scripts "$@"\n',
        "chatbot-mvp": f'#!/bin/bash\nexec {sys.executable} -m chatbot_mvp.cli "$@"\n',
        "weed": f'#!/bin/bash\nexec {Path(sys.executable).with_name("weed")} "$@"\n',
        "milvus-lite": f"#!/bin/bash\nexec {sys.executable} -c '{milvus}' \"$@\"\n",
    }.items():
        (programs / name).write_text(content)
        (programs / name).chmod(0o755)
    names = {name.upper() for name in Settings.model_fields}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    return environment | {
        "PYTHONPATH": str(PROJECT_ROOT),
        "VENV": str(folder / "venv"),
        "DATA_DIR": str(folder / "data"),
        "SLURM_JOB_NODELIST": "this-node",
        "RAY_PORT": PORT,
        "RETRIEVAL_STRATEGY": "LEXICAL",
    }


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(find_spec("ray") is None, reason='needs pip install "chatbot-mvp[ray]"')
@pytest.mark.xdist_group("ray")
def test_the_slurm_script_starts_a_cluster_carries_out_a_run_and_ends_the_cluster(tmp_path: Path) -> None:
    environment = slurm_environment(tmp_path)
    bash = shutil.which("bash")
    assert bash is not None
    with ModelStub() as stub:
        done = subprocess.run(
            [bash, str(SLURM), "run", "--json"],
            env=environment | stub.environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert '"ndcg@10"' in done.stdout
    assert stub.asked("judge") > 0
    wait_until(lambda: not ray_processes(), 60, "the end of the cluster")


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(find_spec("ray") is None, reason='needs pip install "chatbot-mvp[ray]"')
@pytest.mark.xdist_group("ray")
def test_the_slurm_script_starts_object_store_index_ray_pages_and_endpoint_and_ends_them(tmp_path: Path) -> None:
    names = ("OBJECTS_PORT", "INDEX_PORT", "PAGES_PORT", "ENDPOINT_PORT", "MASTER_PORT", "VOLUME_PORT", "FILER_PORT")
    ports = dict(zip(names, map(str, low_ports(len(names))), strict=True))
    keys = {"MINIO_ACCESS_KEY": "team", "MINIO_SECRET_KEY": "very-secret", "SERVE_TOKEN": "token-of-the-tests"}
    environment = slurm_environment(tmp_path) | ports | keys
    with (tmp_path / "log").open("w+") as log:
        job = subprocess.Popen(
            ["bash", str(SLURM), "everything"], env=environment, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            said = (tmp_path / "log").read_text
            wait_until(lambda: "pages at http" in said() or job.poll() is not None, 240, "the pages", 0.5)
            assert job.poll() is None, said()[-2_000:]
            for name in ("object store", "index", "Ray", "endpoint", "pages"):
                assert re.search(rf"^{name} at \S+ is up$", said(), re.MULTILINE), said()[-2_000:]
            [address] = re.findall(r"^Ray at (\S+):", said(), re.MULTILINE)
            places = {
                "MINIO_ENDPOINT": f"http://{address}:{ports['OBJECTS_PORT']}",
                "DATA_ROOT": "s3://chatbot/shared",
                "INDEX_ENGINE": "milvus",
                "MILVUS_ADDRESS": f"http://{address}:{ports['INDEX_PORT']}",
            }
            handbook = next((PROJECT_ROOT / "data" / "samples" / "kb").glob("*.md"))
            question = "¿Cuántos días de vacaciones hay?"
            asked = subprocess.run(
                [sys.executable, "-m", "chatbot_mvp.cli", "kb", "ask", str(handbook), question, "--json"],
                env=environment | places,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert asked.returncode == 0, asked.stderr[-2_000:]
            assert "23 días" in asked.stdout
            assert any((tmp_path / "data" / "index").iterdir())
            url = f"http://{address}:{ports['ENDPOINT_PORT']}/v1/models"
            request = urllib.request.Request(url, headers={"Authorization": "Bearer token-of-the-tests"})
            with urllib.request.urlopen(request, timeout=20) as reply:
                assert len(json.load(reply)["data"]) == 2  # the knowledge base in two modes
        finally:
            job.terminate()
            job.wait(60)
    wait_until(lambda: not ray_processes(*ports.values()), 60, "the end of all programs")


def ray_processes(*others: str) -> list[str]:
    """Command lines that name the port of the cluster, or one of ``others``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().decode("utf-8", "replace"))
    ports = (PORT, *others)
    return [line for line in found if re.search(rf"(:|port=|port\0)({'|'.join(ports)})\b", line)]
