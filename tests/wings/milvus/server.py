"""milvus-lite, its maker's server for tests, in a process of its own that can be killed and started again.

Started as a program with TOKEN it also checks credentials, which milvus-lite does not: it refuses with the gRPC status
and the words of a Milvus server with authentication.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.wings.milvus.client import MilvusServer
from tests.loopback import free_port

TOKEN = "root:very-secret"


class MilvusProcess:
    """A server with data in ``folder``. Listens on loopback."""

    def __init__(self, folder: Path, token: str = "") -> None:
        self._folder = folder
        self._token = token
        self._process: subprocess.Popen[str] | None = None
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"

    @property
    def server(self) -> MilvusServer:
        return MilvusServer(self.address, self._token)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [sys.executable, "-m", "tests.wings.milvus.server", str(self._folder), str(self.port), self._token]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=PROJECT_ROOT
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        """End the server without a chance to clean up."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=20)
            self._process = None

    @property
    def peak_mb(self) -> float:
        """Largest memory of the process so far, in MB."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1_024


def serve(folder: str, port: int, token: str) -> None:
    """Run the server until the process is killed."""
    import grpc
    from milvus_lite.adapter.grpc.servicer import MilvusServicer
    from milvus_lite.db import MilvusLite
    from pymilvus.grpc_gen import milvus_pb2_grpc

    class Credentials(grpc.ServerInterceptor):  # type: ignore[misc]
        def intercept_service(self, continuation: Any, details: Any) -> Any:
            sent = dict(details.invocation_metadata).get("authorization")
            if not token or sent == base64.b64encode(token.encode()).decode():
                return continuation(details)

            def refuse(_: Any, context: Any) -> None:
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure, please check username and password")

            return grpc.unary_unary_rpc_method_handler(refuse)

    server = grpc.server(ThreadPoolExecutor(8), interceptors=[Credentials()])
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(MilvusLite(folder)), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    print("ready", flush=True)
    while True:
        time.sleep(3_600)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
