"""List, read and write objects on S3 or MinIO."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO

from chatbot_mvp.errors import StorageChanged, StorageDamaged, StorageRefused
from chatbot_mvp.remote.s3_failures import storage_errors
from chatbot_mvp.settings.model import Settings

_PART_BYTES = 8 * 1024 * 1024
"""Part size of multipart uploads; smaller files are sent in one request. ETags depend on it."""

_READ_BYTES = 1024 * 1024
_SHA256 = "sha256"
"""Name under which ``Storage.put`` stores the hash of the content, in hex, with an object."""


@dataclass(frozen=True, slots=True)
class S3Url:
    """An address ``s3://bucket/prefix/`` of a group of objects."""

    bucket: str
    prefix: str
    """Without slashes at the ends; "" for the whole bucket."""

    @classmethod
    def parse(cls, text: str) -> S3Url | None:
        """Parse an address; None if ``text`` is not one."""
        match = re.fullmatch(r"s3://([^/]+)/?(.*)", text.strip())
        return cls(match[1], match[2].strip("/")) if match else None

    def __truediv__(self, name: str) -> S3Url:
        return S3Url(self.bucket, f"{self.prefix}/{name}" if self.prefix else name)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}/" if self.prefix else f"s3://{self.bucket}/"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One object of a listing."""

    path: str
    """Path relative to the listed address, with slashes."""
    size: int
    """Size in bytes."""
    etag: str
    """Version tag without quotation marks; changes with the content."""


class Storage:
    """One S3 server under one access key. Safe to share between threads.

    boto3 is imported by the first request, so that everything that sends none works without it.
    """

    def __init__(self, make_client: Callable[[], Any], endpoint: str) -> None:
        """
        Args:
            make_client: makes boto3's client for S3; called once, in a block of ``storage_errors``.
            endpoint: address for error messages; contains no secret.
        """
        self._make_client = make_client
        self.endpoint = endpoint

    @cached_property
    def _client(self) -> Any:
        return self._make_client()

    def folders(self, url: S3Url) -> list[str]:
        """List the names of the folders directly below ``url``, sorted.

        Raises:
            StorageError
        """
        names: list[str] = []
        prefix = f"{url.prefix}/" if url.prefix else ""
        with self._told("list", url):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=url.bucket, Prefix=prefix, Delimiter="/"
            )
            for page in pages:
                self._require_listing(page)
                names += [item["Prefix"][len(prefix) :].strip("/") for item in page.get("CommonPrefixes", [])]
        return sorted(names)

    def files(self, url: S3Url) -> list[RemoteFile]:
        """List all objects below ``url`` except folder markers, sorted by path; empty if there are none.

        Raises:
            StorageError
        """
        found = []
        prefix = f"{url.prefix}/" if url.prefix else ""
        with self._told("list", url):
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=url.bucket, Prefix=prefix):
                self._require_listing(page)
                for item in page.get("Contents", []):
                    path = item["Key"][len(prefix) :]
                    if path and not path.endswith("/"):
                        found.append(RemoteFile(path, item["Size"], item["ETag"].strip('"')))
        return sorted(found, key=lambda file: file.path)

    def tail(self, url: S3Url, file: RemoteFile, size: int) -> bytes:
        """Read the last ``size`` bytes of an object, or all bytes of a smaller one.

        Raises:
            StorageError
        """
        with self._told("read", url / file.path):
            wanted = f"bytes={max(0, file.size - size)}-"
            reply = self._client.get_object(Bucket=url.bucket, Key=(url / file.path).prefix, Range=wanted)
            with closing(reply["Body"]) as body:
                content: bytes = body.read()
        return content

    def read(self, url: S3Url, file: RemoteFile, begin: int) -> Iterator[bytes]:
        """Yield the content from byte ``begin`` on, in pieces of up to 1 MiB, of exactly the listed version.

        What is read from the beginning of an object that ``put`` wrote is compared with the SHA-256 stored with it.

        Raises:
            StorageDamaged: after the last piece: the content has another SHA-256, or more bytes than listed.
            StorageError: the request failed, or the object has changed since it was listed.
        """
        if begin >= file.size:
            return
        with self._told("read", url / file.path):
            reply = self._client.get_object(
                Bucket=url.bucket,
                Key=(url / file.path).prefix,
                Range=f"bytes={begin}-",
                IfMatch=f'"{file.etag}"',
            )
            digest, left = hashlib.sha256(), file.size - begin
            with closing(reply["Body"]) as body:
                while left >= 0 and (piece := body.read(_READ_BYTES)):
                    digest.update(piece)
                    left -= len(piece)
                    yield piece
            stored = reply.get("Metadata", {}).get(_SHA256)
            if left or (begin == 0 and stored not in (None, digest.hexdigest())):
                raise StorageDamaged(endpoint=self.endpoint, place=str(url / file.path).rstrip("/"))

    def is_encrypted(self, url: S3Url, file: RemoteFile) -> bool:
        """Return whether the server encrypts an object. Its ETag is then not the MD5 of the content.

        Raises:
            StorageError
        """
        with self._told("read", url / file.path):
            head = self._client.head_object(Bucket=url.bucket, Key=(url / file.path).prefix)
        return bool(head.get("ServerSideEncryption") or head.get("SSECustomerAlgorithm"))

    def write(self, path: Path, url: S3Url, name: str) -> bool:
        """Upload a file as ``name`` below ``url``; return False, without an upload, if an equal object exists.

        Raises:
            StorageError
        """
        there = {file.path: file for file in self.files(url)}.get(name)
        if there and there.size == path.stat().st_size and there.etag == etag_of(path):
            return False
        with self._told("write", url / name):
            from boto3.s3.transfer import TransferConfig

            # boto3 aborts a failed multipart upload, so no incomplete object is left.
            config = TransferConfig(multipart_threshold=_PART_BYTES, multipart_chunksize=_PART_BYTES, max_concurrency=4)
            self._client.upload_file(str(path), url.bucket, (url / name).prefix, Config=config)
        return True

    def put(self, content: BinaryIO | bytes, url: S3Url, expected: str | None) -> str:
        """Write one object in one request (up to 5 GB), if its present version is ``expected``; return its new version.

        The server checks on arrival that it got these bytes, and stores their SHA-256 with the object.
        Servers that do not know conditional writes ignore the condition.

        Args:
            expected: ETag of the present version; None: there must be no object.

        Raises:
            StorageChanged: the object has another version.
            StorageError
        """
        condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": f'"{expected}"'}
        md5, sha256 = _hashes(content)
        proof = {"ContentMD5": base64.b64encode(md5).decode(), "Metadata": {_SHA256: sha256}}
        with self._told("write", url):
            reply = self._client.put_object(Bucket=url.bucket, Key=url.prefix, Body=content, **proof, **condition)
        return str(reply["ETag"]).strip('"')

    def delete(self, url: S3Url, expected: str) -> None:
        """Delete one object if its present version is ``expected``; nothing happens if there is none.

        Servers that know no conditional deletion ignore the condition, or refuse it. The version is compared before
        the request, so with them a change within the milliseconds between both requests is deleted, too.

        Args:
            expected: ETag of the version to delete.

        Raises:
            StorageChanged: the object has another version.
            StorageError
        """
        with self._told("delete", url):
            from botocore.exceptions import ClientError

            place = {"Bucket": url.bucket, "Key": url.prefix}
            try:
                found = str(self._client.head_object(**place)["ETag"]).strip('"')
                if found != expected:
                    reason = "the object has changed since it was listed"
                    raise StorageChanged(endpoint=self.endpoint, action="delete", place=str(url), reason=reason)
                self._client.delete_object(**place, IfMatch=f'"{expected}"')
            except ClientError as error:
                code = error.response.get("Error", {}).get("Code")
                if code == "NotImplemented":
                    self._client.delete_object(**place)
                elif code not in ("404", "NoSuchKey"):
                    raise

    def _require_listing(self, page: Mapping[str, Any]) -> None:
        """Refuse a page of HTML, which would pass for a listing without objects."""
        if "Name" not in page:
            raise StorageRefused(
                "storage_address_wrong", endpoint=self.endpoint, reason="its answer is no listing of a bucket"
            )

    def _told(self, action: str, url: S3Url) -> AbstractContextManager[None]:
        # An object's name has no slash at its end.
        place = str(url) if action == "list" else str(url).rstrip("/")
        return storage_errors(self.endpoint, action, url.bucket, place)


def open_storage(settings: Settings) -> Storage | None:
    """Return the configured S3 server; None if MINIO_ENDPOINT or a key is missing. Sends no request."""
    key, secret = settings.minio_access_key.get_secret_value(), settings.minio_secret_key.get_secret_value()
    if not (settings.minio_endpoint and key and secret):
        return None
    return Storage(partial(_make_client, settings), settings.minio_endpoint)


def _make_client(settings: Settings) -> Any:
    """Make boto3's client, for a block of ``storage_errors``."""
    import boto3
    from botocore.config import Config

    config = Config(
        # MinIO serves http://host/bucket; http://bucket.host would need an entry in DNS.
        s3={"addressing_style": "path"},
        # Older MinIO servers reject the checksums that newer clients add by default.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"max_attempts": 3, "mode": "standard"},
        connect_timeout=5,
        read_timeout=60,
    )
    return boto3.client(
        "s3",
        endpoint_url=settings.minio_endpoint,
        aws_access_key_id=settings.minio_access_key.get_secret_value(),
        aws_secret_access_key=settings.minio_secret_key.get_secret_value(),
        region_name=settings.minio_region,
        config=config,
    )


def _hashes(content: BinaryIO | bytes) -> tuple[bytes, str]:
    """Return MD5 and SHA-256 (in hex) of a content; a file is read to its end and set to its beginning again."""
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    file = io.BytesIO(content) if isinstance(content, bytes) else content
    while piece := file.read(_READ_BYTES):
        md5.update(piece)
        sha256.update(piece)
    file.seek(0)
    return md5.digest(), sha256.hexdigest()


def md5_of(path: Path) -> str:
    """Return the MD5 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def etag_of(path: Path) -> str:
    """Return the ETag that ``Storage.write`` gives a file: its MD5, or "<MD5 of the parts' MD5s>-<number of parts>"."""
    if path.stat().st_size < _PART_BYTES:
        return md5_of(path)
    parts = []
    with path.open("rb") as file:
        while piece := file.read(_PART_BYTES):
            parts.append(hashlib.md5(piece, usedforsecurity=False).digest())
    return f"{hashlib.md5(b''.join(parts), usedforsecurity=False).hexdigest()}-{len(parts)}"
