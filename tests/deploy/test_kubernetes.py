"""The manifests for Kubernetes keep to their schemas and to the strictest of Kubernetes' own standards for pods, fit
together, and start programs that exist."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from tests.docs.test_commands import parsed
from tests.loopback import free_ports
from tests.s3_server import low_ports
from tests.waiting import wait_until

FOLDER = PROJECT_ROOT / "deploy" / "kubernetes"
VERSION = "1.37"
"""Of Kubernetes, whose schemas are checked."""
RUN = "run.yaml"
"""Started on demand, so not part of the kustomization."""

Document = dict[str, Any]


def kustomization() -> Document:
    read: Document = yaml.safe_load((FOLDER / "kustomization.yaml").read_text("utf-8"))
    return read


def documents() -> list[Document]:
    found = []
    for name in [*kustomization()["resources"], RUN]:
        found += list(yaml.safe_load_all((FOLDER / name).read_text("utf-8")))
    return found


DOCUMENTS = documents()


def named(document: Document) -> str:
    metadata = document["metadata"]
    return f"{document['kind']}-{metadata.get('name', metadata.get('generateName'))}"


def of_kind(kind: str) -> dict[str, Document]:
    return {document["metadata"]["name"]: document for document in DOCUMENTS if document["kind"] == kind}


def templates() -> Iterator[tuple[str, Document]]:
    """Yield the pods: a name, and metadata with the specification."""
    for document in DOCUMENTS:
        if document["kind"] == "RayCluster":
            groups = [document["spec"]["headGroupSpec"], *document["spec"]["workerGroupSpecs"]]
            yield from ((f"ray-{group.get('groupName', 'head')}", group["template"]) for group in groups)
        elif "template" in document.get("spec", {}):
            yield named(document), document["spec"]["template"]


PODS = dict(templates())


def environment_of(container: Document) -> dict[str, str]:
    """Return the variables that a container sees; secrets as they are in the examples."""
    values: dict[str, str] = {}
    for source in container.get("envFrom", []):
        if "configMapRef" in source:
            values |= of_kind("ConfigMap")[source["configMapRef"]["name"]]["data"]
        else:
            values |= of_kind("Secret")[source["secretRef"]["name"]]["stringData"]
    for entry in container.get("env", []):
        reference = entry.get("valueFrom", {}).get("secretKeyRef")
        if reference is None:
            values[entry["name"]] = entry["value"]
        elif reference["name"] != "ray":  # which the operator writes
            values[entry["name"]] = of_kind("Secret")[reference["name"]]["stringData"][reference["key"]]
    return values


def test_the_kustomization_has_all_files_but_the_one_that_starts_a_run() -> None:
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert {*kustomization()["resources"], RUN} == files
    [image] = kustomization()["images"]
    ours = {container["image"] for pod in PODS.values() for container in pod["spec"]["containers"]}
    assert {image["name"], f"{image['newName']}:{image['newTag']}"} <= ours


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl, which builds kustomizations")
def test_kubectl_builds_the_kustomization() -> None:
    built = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    found = list(yaml.safe_load_all(built.stdout))
    assert len(found) == len(DOCUMENTS) - 1
    assert {document["metadata"].get("namespace", "chatbot-mvp") for document in found} == {"chatbot-mvp"}
    assert "image: chatbot-mvp\n" not in built.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_a_manifest_keeps_to_the_schema_of_kubernetes(document: Document) -> None:
    schemas = pytest.importorskip("kubernetes_validate", reason="needs pip install kubernetes-validate")
    if document["kind"] != "RayCluster":
        schemas.validate(document, VERSION, strict=True)
        return
    # Kubernetes has no schema for the operator's kind. These are the fields of KubeRay 1.6 that the file uses.
    spec = document["spec"]
    assert set(spec) == {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"}
    assert spec["authOptions"] == {"mode": "token"}
    assert set(spec["headGroupSpec"]) == {"rayStartParams", "template"}
    for group in spec["workerGroupSpecs"]:
        assert set(group) == {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
    for name, template in PODS.items():
        if name.startswith("ray-"):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": template["spec"]}
            schemas.validate(pod, VERSION, strict=True)


@pytest.mark.parametrize("pod", PODS)
def test_a_pod_is_not_root_writes_its_volumes_only_and_has_bounds(pod: str) -> None:
    """What the standard "restricted" of the namespace asks for, and a root file system that cannot be written."""
    namespace = of_kind("Namespace")["chatbot-mvp"]["metadata"]["labels"]
    assert namespace["pod-security.kubernetes.io/enforce"] == "restricted"
    spec = PODS[pod]["spec"]
    context = spec["securityContext"]
    assert (context["runAsNonRoot"], context["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
    assert context["runAsUser"] == context["fsGroup"] > 0
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
    kinds = {key for volume in spec.get("volumes", []) for key in volume if key != "name"}
    assert kinds <= {"emptyDir", "persistentVolumeClaim"}
    for container in spec["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]
        if not pod.startswith("Job"):
            assert {"readinessProbe", "livenessProbe"} <= set(container)


def test_a_pod_names_claims_and_ports_that_exist() -> None:
    owners = {named(document): document["spec"] for document in DOCUMENTS if "spec" in document}
    for name, template in PODS.items():
        spec = template["spec"]
        volumes = {volume["name"] for volume in spec.get("volumes", [])}
        volumes |= {claim["metadata"]["name"] for claim in owners.get(name, {}).get("volumeClaimTemplates", [])}
        claims = {
            volume["persistentVolumeClaim"]["claimName"]
            for volume in spec["volumes"]
            if len(volume) == 2 and "persistentVolumeClaim" in volume
        }
        assert claims <= set(of_kind("PersistentVolumeClaim"))
        for container in spec["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            ports = {port["name"] for port in container.get("ports", [])}
            probes = [
                container[kind] for kind in ("startupProbe", "readinessProbe", "livenessProbe") if kind in container
            ]
            for probe in probes:
                assert (probe.get("httpGet") or probe["tcpSocket"])["port"] in ports


def test_services_ingress_and_policies_name_ports_of_the_pods_that_they_select() -> None:
    services = of_kind("Service")
    for service in services.values():
        [pod] = [pod for pod in PODS.values() if pod.get("metadata", {}).get("labels") == service["spec"]["selector"]]
        ports = {port["name"]: port["containerPort"] for found in pod["spec"]["containers"] for port in found["ports"]}
        for port in service["spec"]["ports"]:
            assert ports[port["targetPort"]] == port["port"]
    for policy in of_kind("NetworkPolicy").values():
        [pod] = [
            pod
            for pod in PODS.values()
            if pod.get("metadata", {}).get("labels") == policy["spec"]["podSelector"]["matchLabels"]
        ]
        names = {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
        assert {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]} <= names
    [ingress] = of_kind("Ingress").values()
    for path in ingress["spec"]["rules"][0]["http"]["paths"]:
        backend = path["backend"]["service"]
        assert backend["port"]["name"] in {port["name"] for port in services[backend["name"]]["spec"]["ports"]}
    hosts = of_kind("ConfigMap")["chatbot-mvp"]["data"]["ALLOWED_HOSTS"]
    assert ingress["spec"]["rules"][0]["host"] == ingress["spec"]["tls"][0]["hosts"][0] == hosts


def test_settings_exist_and_lead_to_the_services() -> None:
    known = {name.upper() for name in Settings.model_fields}
    ours = [container for pod in PODS.values() for container in pod["spec"]["containers"] if "envFrom" in container]
    assert len(ours) == 5
    for container in ours:
        ray = {name for name in environment_of(container) if name.startswith("RAY_")} - {"RAY_ADDRESS"}
        assert set(environment_of(container)) - ray <= known
        assert {mount["mountPath"] for mount in container["volumeMounts"]} >= {"/data", "/tmp"}
    settings = environment_of(ours[0])
    services = {
        f"{name}:{port['port']}" for name, found in of_kind("Service").items() for port in found["spec"]["ports"]
    }
    assert {urlsplit(settings[name]).netloc for name in ("MINIO_ENDPOINT", "MILVUS_ADDRESS")} <= services
    assert urlsplit(settings["DATA_ROOT"]).netloc == settings["MINIO_BUCKET_NAME"]
    password = of_kind("Secret")["index"]["stringData"]["password"]
    assert settings["MILVUS_TOKEN"] == f"root:{password}"


def test_a_run_joins_the_ray_cluster_with_its_address_and_token_and_the_same_folder() -> None:
    [job] = [document for document in DOCUMENTS if document["kind"] == "Job"]
    [cluster] = of_kind("RayCluster")
    [container] = job["spec"]["template"]["spec"]["containers"]
    head = PODS["ray-head"]["spec"]["containers"][0]
    environment = {entry["name"]: entry for entry in container["env"]}
    assert environment["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"] == {"name": cluster, "key": "auth_token"}
    ports = {port["name"]: port["containerPort"] for port in head["ports"]}
    address = f"{cluster}-head-svc:{ports['gcs-server']}"
    assert environment["RAY_ADDRESS"]["value"] == address
    assert f"--address={address} " in container["command"][2]
    for name in ("ray-head", "ray-workers"):
        spec = PODS[name]["spec"]
        assert spec["volumes"][0] == job["spec"]["template"]["spec"]["volumes"][0]
        assert {"name": "runs", "mountPath": "/data"} in spec["containers"][0]["volumeMounts"]
        [raylet] = [port["containerPort"] for port in spec["containers"][0]["ports"] if port["name"] == "raylet"]
    groups = [
        of_kind("RayCluster")[cluster]["spec"]["headGroupSpec"],
        *of_kind("RayCluster")[cluster]["spec"]["workerGroupSpecs"],
    ]
    assert {group["rayStartParams"]["node-manager-port"] for group in groups} == {str(raylet)}


def test_a_run_that_is_to_end_is_told_and_what_it_has_is_exchanged(tmp_path: Path) -> None:
    """Kubernetes signals the shell, which is the first process: it passes the signal on and waits."""
    [container] = [container for name, container in containers() if name == "run"]
    shell, *options = container["command"]
    (tmp_path / "ray").write_text("#!/bin/sh\n")
    (tmp_path / "chatbot-mvp").write_text(
        f"#!{sys.executable}\n"
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "print(*sys.argv[1:], flush=True)\n"
        "if 'run' in sys.argv:\n"
        "    signal.sigwait({signal.SIGTERM})\n"
        "    print('stopped', flush=True)\n"
        "    sys.exit(130)\n"
    )
    for program in ("ray", "chatbot-mvp"):
        (tmp_path / program).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    command = [shell, *options, *container["args"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        process.terminate()
        lines += process.stdout.readlines()
        assert process.wait() == 130
    assert [line.strip() for line in lines] == ["sync", "benchmark run --dataset hotpotqa", "stopped", "sync"]


def test_every_command_of_the_program_exists_with_its_options() -> None:
    starts = [container["args"] for name, container in containers() if name in ("pages", "endpoint", "run")]
    assert len(starts) == 3
    for words in starts:
        parsed(" ".join(["chatbot-mvp", *words]))
    [script] = [container["command"][2] for name, container in containers() if name == "run"]
    lines = [line.strip() for line in script.splitlines()]
    assert lines.count("chatbot-mvp sync") == 2
    parsed("chatbot-mvp sync")


def containers() -> Iterator[tuple[str, Document]]:
    for pod in PODS.values():
        yield from ((container["name"], container) for container in pod["spec"]["containers"])


@contextmanager
def running(command: list[str], environment: dict[str, str], folder: Path) -> Iterator[None]:
    names = {name.upper() for name in Settings.model_fields}
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    process = subprocess.Popen(
        command,
        env=inherited | {"PYTHONPATH": str(PROJECT_ROOT)} | environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()


def answers(port: int, path: str, host: str) -> Callable[[], bool]:
    def ask() -> bool:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Host": host})
        with suppress(OSError), urllib.request.urlopen(request, timeout=5) as reply:
            return bool(reply.status == 200)
        return False

    return ask


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pages", "endpoint"])
def test_the_probes_of_pages_and_endpoint_answer_the_address_of_a_pod(name: str, tmp_path: Path) -> None:
    [container] = [container for found, container in containers() if found == name]
    [port] = free_ports(1)
    command = [sys.executable, "-m", "chatbot_mvp.cli", *container["args"], "--port", str(port)]
    environment = {"SERVE_TOKEN": "token-of-the-tests", "DATA_DIR": str(tmp_path), "ALLOWED_HOSTS": "chat.example.org"}
    with running(command, environment, tmp_path):
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            path = container[kind]["httpGet"]["path"]
            wait_until(answers(port, path, f"10.0.0.7:{container['ports'][0]['containerPort']}"), 60, kind, 0.2)


@pytest.mark.slow
@pytest.mark.xdist_group("s3")
def test_the_object_store_starts_as_written_has_the_bucket_and_takes_an_exchange(tmp_path: Path) -> None:
    """The manifest's own commands; only ports and folders are those of this machine."""
    [store] = [container for name, container in containers() if name == "seaweedfs"]
    weed = Path(sys.executable).with_name("weed")
    data, master, s3, volume, filer = (tmp_path / "data", *low_ports(4))
    data.mkdir()
    here = {"-dir=/data": f"-dir={data}", "-s3.port=8333": f"-s3.port={s3}", "weed": str(weed)}
    command = [here.get(word, word) for word in store["command"]]
    command += [f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}"]
    environment = environment_of(store)
    [shell, option, script] = store["lifecycle"]["postStart"]["exec"]["command"]
    script = script.replace("weed shell", f"{weed} shell").replace(":9333", f":{master}")
    with running(command, environment, tmp_path):
        for _ in range(2):  # a pod that starts again finds its bucket
            subprocess.run([shell, option, script], check=True, capture_output=True, timeout=60)
        wait_until(answers(s3, store["readinessProbe"]["httpGet"]["path"], "10.0.0.8"), 30, "the probe", 0.2)
        [pages] = [container for name, container in containers() if name == "pages"]
        settings = environment_of(pages) | {
            "DATA_DIR": str(tmp_path / "app"),
            "MINIO_ENDPOINT": f"http://127.0.0.1:{s3}",
            "INDEX_ENGINE": "local",
            "SERVE_TOKEN": "a-long-random-text",  # a short one, such as the manifest's "change-me", is refused
        }
        names = {name.upper() for name in Settings.model_fields}
        inherited = {name: value for name, value in os.environ.items() if name not in names}
        done = subprocess.run(
            [sys.executable, "-m", "chatbot_mvp.cli", "sync"],
            env=inherited | {"PYTHONPATH": str(PROJECT_ROOT)} | settings,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for port in (master, volume, filer):
            assert listening_addresses(port) == {"0100007F"}, "loopback only: these servers ask for no key"


def listening_addresses(port: int) -> set[str]:
    """Return the addresses on which this machine listens at a port, in the kernel's hexadecimal form."""
    rows = [line.split() for path in ("tcp", "tcp6") for line in Path(f"/proc/net/{path}").read_text().splitlines()[1:]]
    listen = "0A"
    return {row[1].split(":")[0] for row in rows if row[3] == listen and int(row[1].split(":")[1], 16) == port}
