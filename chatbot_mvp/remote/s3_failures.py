"""Turn what boto3 raises into the project's errors. Every kind of refusal of an S3 server has its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chatbot_mvp.errors import (
    StorageChanged,
    StorageFailed,
    StorageFull,
    StorageRefused,
    StorageUnavailable,
    StorageUnreachable,
)

_NO_ROOM = frozenset({"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage"})

_log = logging.getLogger(__name__)


@contextmanager
def storage_errors(endpoint: str, action: str, bucket: str, place: str) -> Iterator[None]:
    """Convert exceptions of boto3, and its absence, to a StorageError. boto3's messages never contain the secret key.

    Args:
        endpoint: address of the server, without a secret.
        action: "list", "read", "write" or "delete".
        place: what the action was applied to, as ``s3://bucket/name``.

    Raises:
        StorageError
    """
    try:
        from boto3.exceptions import S3UploadFailedError
        from botocore import exceptions
        from urllib3.exceptions import HTTPError
    except ImportError as error:
        raise StorageRefused(
            "storage_package_missing", endpoint=endpoint, package="boto3", command="pip install boto3"
        ) from error
    try:
        yield
    except S3UploadFailedError as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, exceptions.ClientError):
            raise _refusal(cause, endpoint, action, bucket, place) from error
        raise StorageFailed(endpoint=endpoint, action=action, place=place, reason=str(error)) from error
    except exceptions.ClientError as error:
        raise _refusal(error, endpoint, action, bucket, place) from error
    except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
        reason = "no answer in time" if "Timeout" in type(error).__name__ else "no connection"
        if isinstance(error, exceptions.SSLError):
            reason = "its certificate cannot be checked, or it does not speak https"
        raise StorageUnreachable(endpoint=endpoint, reason=reason) from error
    except (exceptions.InvalidEndpointConfigurationError, exceptions.EndpointProviderError, ValueError) as error:
        raise StorageRefused("storage_address_wrong", endpoint=endpoint, reason=_one_line(error)) from error
    except exceptions.ParamValidationError as error:
        # A name of a bucket that no server accepts; the message of several lines ends with the pattern.
        raise StorageFailed(endpoint=endpoint, action=action, place=place, reason=_one_line(error)) from error
    except (exceptions.BotoCoreError, HTTPError) as error:
        reason = "the connection broke" if isinstance(error, HTTPError) else str(error)
        raise StorageFailed(endpoint=endpoint, action=action, place=place, reason=reason) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _refusal(error: Any, endpoint: str, action: str, bucket: str, place: str) -> Exception:
    """Return the error for a reply that refuses a request."""
    said = error.response.get("Error", {})
    code = str(said.get("Code", ""))
    _log.debug("%s of %s: %s", action, place, code)
    if code == "InvalidAccessKeyId":
        return StorageRefused("storage_key_unknown", endpoint=endpoint)
    if code == "SignatureDoesNotMatch":
        return StorageRefused("storage_secret_wrong", endpoint=endpoint)
    if code in ("ExpiredToken", "TokenRefreshRequired", "XMinioAccessKeyDisabled"):
        return StorageRefused("storage_key_expired", endpoint=endpoint)
    if code == "NoSuchBucket":
        return StorageRefused("storage_bucket_missing", endpoint=endpoint, bucket=bucket)
    if code in ("AccessDenied", "403", "AllAccessDisabled"):
        return StorageRefused("storage_denied", endpoint=endpoint, action=action, place=place)
    # A reply without an error of S3 has the status in place of the code.
    reason = f"{'' if code.isdigit() else code}: {said.get('Message', '')}".strip(":. ")
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code in _NO_ROOM or status == 507:
        return StorageFull(endpoint=endpoint, action=action, place=place, reason=reason)
    if code == "InternalError" and action == "write":
        return StorageUnavailable(
            "storage_write_unavailable", endpoint=endpoint, status=status, place=place, reason=reason
        )
    if status >= 500:
        return StorageUnavailable("storage_unavailable", endpoint=endpoint, status=status, reason=reason)
    if not code:
        return StorageRefused(
            "storage_address_wrong", endpoint=endpoint, reason=f"it answered {status} without an error of S3"
        )
    if code in ("PreconditionFailed", "412", "NoSuchKey", "ConditionalRequestConflict"):
        reason = "the object has changed since it was listed"
        return StorageChanged(endpoint=endpoint, action=action, place=place, reason=reason)
    return StorageFailed(endpoint=endpoint, action=action, place=place, reason=reason)
