"""The connection to a Milvus server: one client per process and server, typed errors, the collections.

pymilvus is imported when a client is created, because only installations with INDEX_ENGINE=milvus have it.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chatbot_mvp.errors import InvalidSetting, MissingPackage
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.milvus.errors import MilvusError
from chatbot_mvp.wings.milvus.settings import MilvusSettings

if TYPE_CHECKING:
    from pymilvus import MilvusClient

_log = logging.getLogger(__name__)

LARGEST_RESULT = 16_384
"""Results per query that Milvus allows."""
TERMS = "chatbot_mvp_terms_1"
"""Collection of the inverted indexes. The number is raised with every change of the rows' layout."""
VECTORS = "chatbot_mvp_vectors_1_"
"""Beginning of the names of the collections of vectors; the number of dimensions follows."""

CONNECT_S, ANSWER_S, WRITE_S = 10.0, 30.0, 120.0
_RECONNECT = {"grpc.initial_reconnect_backoff_ms": 200, "grpc.max_reconnect_backoff_ms": 1_000}
"""gRPC by itself waits up to two minutes before it looks again for a server that was away."""
_NAME_CHARS = 512
_CAUSES = 10  # exceptions of a chain that are searched for the server's status


@dataclass(frozen=True)
class MilvusServer:
    """The address of a Milvus server and the credentials for it."""

    address: str
    """"http://host:port", or https."""
    token: str = field(default="", repr=False)
    """"user:password" or an API key; "" for a server without authentication."""
    database: str = ""
    """Name of a database on the server; "" for its default one."""

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Convert exceptions of pymilvus.

        Raises:
            MilvusError (index_credentials_refused, index_engine_unavailable)
        """
        import grpc
        from pymilvus import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError) as error:
            status, reason = _status(error)
            refused = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
            raise MilvusError(
                "index_credentials_refused" if status in refused else "index_engine_unavailable",
                place=self.address,
                reason=reason,
            ) from error


def milvus_server(settings: Settings) -> MilvusServer:
    """Return the server that INDEX_ENGINE=milvus uses.

    Raises:
        InvalidSetting: MILVUS_ADDRESS is missing or not an address.
    """
    given = settings.of(MilvusSettings)
    address = given.milvus_address.strip()
    try:
        parts = urlsplit(address)
        legal = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        legal = False
    if not legal:
        reason = "INDEX_ENGINE=milvus needs http://host:port or https://host, for example http://localhost:19530"
        raise InvalidSetting(name="MILVUS_ADDRESS", found=address, reason=reason)
    return MilvusServer(address, given.milvus_token.get_secret_value(), given.milvus_database)


@dataclass(frozen=True)
class MilvusConnection:
    """A client and the server it talks to. Safe to share between threads."""

    client: MilvusClient
    server: MilvusServer

    def open_collection(self, name: str, vector: Any, index: dict[str, Any]) -> None:
        """Create a collection if it is missing, and make it searchable.

        Every row has a text id, the corpus that it belongs to, the corpus' owner, a row number and a text.

        Args:
            vector: data type and options of the field "vector", for pymilvus' ``add_field``.
            index: type, metric and parameters of its index, for pymilvus' ``add_index``.
        """
        from pymilvus import DataType, MilvusException

        with self.server.reported():
            if not self.client.has_collection(name, timeout=CONNECT_S):
                schema = self.client.create_schema(auto_id=False)
                schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_NAME_CHARS)
                # Milvus keeps corpora with different partition keys apart, and searches only the partition asked for.
                schema.add_field("corpus", DataType.VARCHAR, is_partition_key=True, max_length=_NAME_CHARS)
                schema.add_field("owner", DataType.VARCHAR, max_length=_NAME_CHARS)
                schema.add_field("row", DataType.INT64)
                schema.add_field("text", DataType.VARCHAR, max_length=65_535)
                schema.add_field("vector", **vector)
                indexes = self.client.prepare_index_params()
                indexes.add_index("vector", **index)
                try:
                    self.client.create_collection(name, schema=schema, index_params=indexes, timeout=WRITE_S)
                except MilvusException:  # another process created it at the same time
                    if not self.client.has_collection(name, timeout=CONNECT_S):
                        raise
            self.client.load_collection(name, timeout=WRITE_S)

    def upsert(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows; those with the id of a stored row replace it, so that a repeated build doubles nothing."""
        with self.server.reported():
            self.client.upsert(name, list(rows), timeout=WRITE_S)

    def seal(self, name: str) -> None:
        """Ask the server to index the newest rows. Until then it compares a query with each of them."""
        from pymilvus import MilvusException

        try:
            self.client.flush(name, timeout=WRITE_S)
        except MilvusException as error:  # a cluster limits how often this may be done, and does it by itself later
            _log.info("the Milvus server at %s has not sealed %s: %s", self.server.address, name, error)

    def texts(self, name: str, ids: Sequence[str]) -> dict[str, str]:
        """Return id -> text of the stored ones of some rows."""
        options = {"consistency_level": "Strong", "timeout": ANSWER_S}
        found = self._read(name, lambda: self.client.get(name, list(ids), output_fields=["text"], **options))
        return {row["id"]: row["text"] for row in found}

    def count(self, name: str, corpus: str) -> int:
        """Return the number of rows of a corpus."""
        of_corpus = f"corpus == {json.dumps(corpus)}"
        options = {"consistency_level": "Strong", "timeout": ANSWER_S}
        found = self._read(
            name, lambda: self.client.query(name, filter=of_corpus, output_fields=["count(*)"], **options)
        )
        return int(found[0]["count(*)"])

    def search(
        self, name: str, corpus: str, vectors: Any, limit: int, consistency: str, **parameters: Any
    ) -> list[list[tuple[int, float]]]:
        """Return for each vector the (row, inner product) of the best rows of a corpus, in the server's order."""
        answer = self._read(
            name,
            lambda: self.client.search(
                name,
                data=vectors,
                anns_field="vector",
                filter=f"corpus == {json.dumps(corpus)}",
                limit=limit,
                output_fields=["row"],
                search_params={"metric_type": "IP", "params": parameters},
                consistency_level=consistency,
                timeout=ANSWER_S,
            ),
        )
        return [[(int(hit["entity"]["row"]), float(hit["distance"])) for hit in hits] for hits in answer]

    def _read(self, name: str, ask: Callable[[], Any]) -> Any:
        """Return what ``ask`` returns. If the server refuses, make the collection searchable and ask once more.

        A restart of the server or its operator can release a collection from memory.
        """
        from pymilvus import MilvusException

        with self.server.reported():
            try:
                return ask()
            except MilvusException as error:
                if _status(error)[0] is not None:  # no answer, or refused credentials
                    raise
                self.client.load_collection(name, timeout=WRITE_S)
                return ask()


_connections: dict[MilvusServer, MilvusConnection] = {}
_lock = threading.Lock()


def connect(server: MilvusServer) -> MilvusConnection:
    """Return this process' only connection to ``server``. It reconnects by itself after the server was away.

    Raises:
        MissingPackage: pymilvus is not installed.
        MilvusError (index_credentials_refused): the server does not accept the token.
        MilvusError (index_engine_unavailable): the server does not answer.
    """
    with _lock:
        if server not in _connections:
            try:
                from pymilvus import MilvusClient
            except ImportError as error:
                command = "pip install 'chatbot-mvp[milvus]'"
                raise MissingPackage(feature="INDEX_ENGINE=milvus", package="pymilvus", command=command) from error
            logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs a traceback of each error it raises
            with server.reported():
                client = MilvusClient(
                    uri=server.address,
                    token=server.token,
                    db_name=server.database,
                    timeout=CONNECT_S,
                    grpc_options=_RECONNECT,
                )
            _connections[server] = MilvusConnection(client, server)
        return _connections[server]


def try_server(server: MilvusServer) -> str:
    """Ask the server for its version and return one line about it, for ``doctor``.

    Raises:
        MissingPackage, MilvusError (index_credentials_refused, index_engine_unavailable)
    """
    connection = connect(server)
    with connection.server.reported():
        version = connection.client.get_server_version(timeout=CONNECT_S)
        ours = [name for name in connection.client.list_collections(timeout=CONNECT_S) if name.startswith(TERMS)]
    return f"Milvus {version} at {server.address}, {'with' if ours else 'without'} indexes of this application"


def delete_rows(connection: MilvusConnection, owner: str, kept: Sequence[str] = ()) -> None:
    """Delete the rows of an owner: the terms and the vectors of a knowledge base.

    Args:
        kept: corpora whose rows stay.

    Raises:
        MilvusError (index_credentials_refused, index_engine_unavailable): some rows may be left; call again.
    """
    leaving = f"owner == {json.dumps(owner)}"
    if kept:
        leaving += f" and corpus not in {json.dumps(list(kept))}"
    with connection.server.reported():
        for name in connection.client.list_collections(timeout=CONNECT_S):
            if name == TERMS or name.startswith(VECTORS):
                connection.client.delete(name, filter=leaving, timeout=WRITE_S)


def _status(error: BaseException) -> tuple[Any, str]:
    """Return the gRPC status and the reason of an exception. pymilvus hides both behind its own exceptions."""
    import grpc

    one = error
    for _ in range(_CAUSES):
        if isinstance(one, grpc.RpcError) and hasattr(one, "code"):
            return one.code(), str(one.details())
        cause = one.__cause__ if one.__cause__ is not one else None  # pymilvus raises exceptions ``from`` themselves
        following = cause or one.__context__
        if following is None:
            break
        one = following
    return None, str(getattr(error, "message", "") or error)
