"""Connect this process to a Ray cluster, and say in the project's errors why that is not possible."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from chatbot_mvp.errors import MissingPackage
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ray.errors import RayError
from chatbot_mvp.wings.ray.settings import RaySettings

LOCAL = "local"
"""Address of a cluster that is started in this process."""
_CONNECT_S = 5.0
_STORE_BYTES = 200_000_000
"""Object store of a cluster that is started here. Tasks and their results are small."""
_COMMAND = 'pip install "chatbot-mvp[ray]"'


def require_ray(settings: Settings) -> None:
    """Check, before a run is created, that its cluster can be there. Connects only to the port of the head.

    Raises:
        MissingPackage, RayError (ray_unreachable)
    """
    if find_spec("ray") is None:
        raise MissingPackage(feature="EVAL_ENGINE=ray", package="ray", command=_COMMAND)
    address = settings.of(RaySettings).ray_address
    host, _, port = address.rpartition(":")
    if not host:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RayError("ray_unreachable", address=address, reason=reason) from error


@contextmanager
def connected(settings: Settings) -> Iterator[ModuleType]:
    """Connect to the cluster of RAY_ADDRESS, or start one in this process; yield the module ``ray``.

    A connection that this process already has is used and left open.

    Raises:
        MissingPackage, RayError (ray_unreachable, ray_version_mismatch)
    """
    require_ray(settings)
    # Ray reports its use to its makers unless this is set before it is imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield ray
        return
    address = settings.of(RaySettings).ray_address or LOCAL
    started: dict[str, Any] = {}
    if address == LOCAL:
        started = {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
    at_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        if ":" in address:
            # Waits 40 s for a head. ``ray.init`` would try for many minutes to speak to a server of another kind.
            ray._raylet.GcsClient(address=address)
        ray.init(address=address, log_to_driver=False, logging_level="error", **started)
    except RuntimeError as error:
        if "version mismatch" in str(error).lower():
            raise RayError("ray_version_mismatch", address=address, reason=_one_line(error)) from error
        raise RayError("ray_unreachable", address=address, reason=_one_line(error)) from error
    except (ConnectionError, ValueError, OSError, ray.exceptions.RayError) as error:
        raise RayError("ray_unreachable", address=address, reason=_one_line(error)) from error
    if threading.current_thread() is threading.main_thread():
        # Ray's own handler would end the process at once, where a command stops its run at a safe point.
        signal.signal(signal.SIGTERM, at_sigterm)
    try:
        yield ray
    finally:
        ray.shutdown()


def describe(settings: Settings) -> str:
    """Return the address, the version and the living nodes of the cluster, for ``doctor``. Raises as ``connected``."""
    with connected(settings) as ray:
        # Ray lists the nodes that have left for good as well.
        alive = sum(node["Alive"] for node in ray.nodes())
        workers = int(ray.cluster_resources().get("CPU", 0))
        address = settings.of(RaySettings).ray_address or LOCAL
        return f"ray {ray.__version__} at {address}: {alive} nodes, {workers} workers"


def _one_line(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error)).strip().removesuffix(".")
