"""Asks the hub of Hugging Face which GGUF files a model has, with size, licence and checksum."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from chatbot_mvp.errors import LocalModelError

_TIMEOUT_S = 10.0
_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_NOT_ALONE = re.compile(r"-\d{5}-of-\d{5}\.gguf$|(^|/)mmproj", re.I)
"""A part of a model in several files, or the part that reads pictures."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A GGUF file on the hub that is a whole model."""

    repo: str
    """"OWNER/NAME"."""
    path: str
    """Within the repository."""
    size_bytes: int
    sha256: str
    """In hexadecimal."""
    license: str
    """As the model's card names it, for example "apache-2.0"; "" if it names none."""

    @property
    def name(self) -> str:
        """Name of the file, without folders."""
        return self.path.rpartition("/")[2]


def gguf_files(endpoint: str, repo: str) -> list[HubFile]:
    """Return the GGUF files of a model that are whole models, smallest first.

    Raises:
        LocalModelError (hub_model_unknown): there is no such model with such a file, or not everybody may download it.
        LocalModelError (hub_unreachable): the hub did not answer, or not as the hub does.
    """
    import httpx  # takes 0.2 s, and only downloads need it

    if not _REPO.fullmatch(repo):
        raise LocalModelError("hub_model_unknown", address=endpoint, repo=repo, reason="it is no OWNER/NAME")
    url = f"{endpoint.rstrip('/')}/api/models/{quote(repo)}"
    try:
        reply = httpx.get(url, params={"blobs": "true"}, timeout=_TIMEOUT_S, follow_redirects=True)
        if reply.status_code in (401, 403, 404):
            reason = f"it answered {reply.status_code}"
            raise LocalModelError("hub_model_unknown", address=endpoint, repo=repo, reason=reason)
        reply.raise_for_status()
        card = reply.json()
        files = sorted(_files(repo, card), key=lambda file: file.size_bytes)
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ) as error:
        reason = str(error) or type(error).__name__
        raise LocalModelError("hub_unreachable", address=endpoint, repo=repo, reason=reason) from error
    if card.get("gated"):
        reason = "its owner must allow each download"
        raise LocalModelError("hub_model_unknown", address=endpoint, repo=repo, reason=reason)
    if not files:
        raise LocalModelError("hub_model_unknown", address=endpoint, repo=repo, reason="it has no whole GGUF file")
    return files


def file_url(endpoint: str, file: HubFile) -> str:
    """Return the address that a file is downloaded from."""
    return f"{endpoint.rstrip('/')}/{quote(file.repo)}/resolve/main/{quote(file.path)}"


def _files(repo: str, card: Mapping[str, Any]) -> Iterator[HubFile]:
    license_ = str((card.get("cardData") or {}).get("license") or "")
    for file in card["siblings"]:
        path, kept = str(file["rfilename"]), file.get("lfs") or {}
        if path.lower().endswith(".gguf") and not _NOT_ALONE.search(path) and kept.get("sha256"):
            yield HubFile(repo, path, int(kept["size"]), str(kept["sha256"]), license_)
