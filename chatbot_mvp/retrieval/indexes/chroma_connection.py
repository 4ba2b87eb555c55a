"""The connection to ChromaDB, in local files or on a server: one client per process and place, and its errors.

chromadb is imported when a client is created: the import takes a second, which strategies without vectors avoid.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chatbot_mvp.errors import ConfigurationError, InvalidSetting, MissingPackage
from chatbot_mvp.storage.files import make_folder

if TYPE_CHECKING:
    from chromadb.api import ClientAPI


@dataclass(frozen=True)
class ChromaClient:
    """A connection to ChromaDB and its location."""

    api: ClientAPI
    place: str
    """Folder or "host:port", for error messages."""
    lock_path: Path
    """Lock file held while a collection is built."""


_clients: dict[str, ChromaClient] = {}
_clients_lock = threading.Lock()


def chroma_client(folder: Path, host: str = "") -> ChromaClient:
    """Return this process's only client for a folder, or for the server ``host`` ("host:port").

    Raises:
        MissingPackage: chromadb is not installed.
        InvalidSetting: ``host`` is not of the form host:port.
        ConfigurationError (vector_store_unavailable): the server does not answer, or the files cannot be opened.
    """
    key = host or str(folder.resolve())
    with _clients_lock:  # two clients on one path must have equal settings, and the first query would race
        if key not in _clients:
            _clients[key] = _connect(folder, host)
        return _clients[key]


def _connect(folder: Path, host: str) -> ChromaClient:
    address = _parse_host(host) if host else None
    try:
        import chromadb
        from chromadb.config import Settings as ChromaSettings
    except ImportError as error:
        raise MissingPackage(
            feature="The vector store ChromaDB", package="chromadb", command="pip install chromadb"
        ) from error
    options = ChromaSettings(anonymized_telemetry=False)
    make_folder(folder)
    place = host or str(folder)
    with reported(place):
        if address is None:
            api = chromadb.PersistentClient(path=str(folder), settings=options)
        else:
            api = chromadb.HttpClient(host=address[0], port=address[1], settings=options)
    return ChromaClient(api, place, folder / "build.lock")


def _parse_host(host: str) -> tuple[str, int]:
    match = re.fullmatch(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):(\d{1,5})", host)
    if match is None or not 0 < int(match.group(2)) < 65_536:
        raise InvalidSetting(name="CHROMA_HOST", found=host, reason="legal is host:port, for example localhost:8000")
    return match.group(1), int(match.group(2))


@contextmanager
def reported(place: str) -> Iterator[None]:
    """Convert exceptions of ChromaDB and its HTTP client to ConfigurationError with the place."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    # ChromaDB raises ValueError for a refused connection, and ChromaError or RuntimeError for problems with its files.
    except (ChromaError, httpx.HTTPError, httpx.InvalidURL, OSError, RuntimeError, ValueError) as error:
        raise ConfigurationError(
            "vector_store_unavailable", place=place, reason=str(error) or type(error).__name__
        ) from error
