"""The examples for Slurm and Kubernetes can be read by what they are for, and name things that exist."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.evaluation.benchmark.judge_stub import ModelStub
from tests.waiting import wait_until

SLURM = PROJECT_ROOT / "deploy" / "ray" / "slurm.sh"
KUBERAY = PROJECT_ROOT / "deploy" / "ray" / "kuberay.yaml"

PORT = "6399"
"""Below the ports that Ray gives to workers."""

SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""
"""Stands in for Slurm's: carries out the command on this machine."""


def documents() -> dict[str, dict[str, Any]]:
    return {document["kind"]: document for document in yaml.safe_load_all(KUBERAY.read_text("utf-8"))}


def test_bash_reads_the_slurm_script() -> None:
    subprocess.run(["bash", "-n", str(SLURM)], check=True)


def test_the_pods_share_one_claim_one_secret_and_settings_that_exist() -> None:
    found = documents()
    known = {name.upper() for name in Settings.model_fields}
    assert set(found["Secret"]["stringData"]) <= known
    clusters = [found["RayCluster"]["spec"], found["RayJob"]["spec"]["rayClusterSpec"]]
    for cluster in clusters:
        assert cluster["authOptions"] == {"mode": "token"}
        templates = [group["template"]["spec"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
        assert len({template["containers"][0]["image"] for template in templates}) == 1
        for template in templates:
            [container], [volume] = template["containers"], template["volumes"]
            assert volume["persistentVolumeClaim"]["claimName"] == found["PersistentVolumeClaim"]["metadata"]["name"]
            assert container["envFrom"] == [{"secretRef": {"name": found["Secret"]["metadata"]["name"]}}]
            environment = {entry["name"]: entry["value"] for entry in container["env"]}
            assert environment.pop("RAY_USAGE_STATS_ENABLED") == "0"
            assert environment == {"DATA_DIR": container["volumeMounts"][0]["mountPath"], "EVAL_ENGINE": "ray"}
            assert set(environment) <= known
    assert found["RayJob"]["spec"]["entrypoint"].startswith("chatbot-mvp benchmark run ")


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(find_spec("ray") is None, reason='needs pip install "chatbot-mvp[ray]"')
@pytest.mark.xdist_group("ray")
def test_the_slurm_script_starts_a_cluster_carries_out_a_run_and_ends_the_cluster(tmp_path: Path) -> None:
    """Slurm's own programs are replaced by two that work on this machine; Ray and the run are real."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    for name, content in {
        "srun": SRUN,
        "scontrol": "#!/bin/bash\necho this-node\n",
        "python": f'#!/bin/bash\nexec {sys.executable} "$@"\n',
        "ray": f'#!/bin/bash\nexec {sys.executable} -m ray.scripts.scripts "$@"\n',
        "chatbot-mvp": f'#!/bin/bash\nexec {sys.executable} -m chatbot_mvp.cli "$@"\n',
    }.items():
        (programs / name).write_text(content)
        (programs / name).chmod(0o755)
    names = {name.upper() for name in Settings.model_fields}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {
        "PYTHONPATH": str(PROJECT_ROOT),
        "VENV": str(tmp_path / "venv"),
        "DATA_DIR": str(tmp_path / "data"),
        "SLURM_JOB_NODELIST": "this-node",
        "RAY_PORT": PORT,
        "RETRIEVAL_STRATEGY": "LEXICAL",
    }
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


def ray_processes() -> list[str]:
    """Command lines that name the port of the cluster."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().decode("utf-8", "replace"))
    return [line for line in found if f":{PORT}" in line or f"--port={PORT}" in line]
