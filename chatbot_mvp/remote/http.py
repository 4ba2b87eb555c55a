"""JSON over HTTP for endpoints that need no vendor library."""

from __future__ import annotations

from typing import Any, NoReturn

from chatbot_mvp.errors import MissingPackage
from chatbot_mvp.remote.calls import Calls
from chatbot_mvp.remote.failures import Endpoint, Failure, failure_of_status
from chatbot_mvp.remote.limiter import limiter_for
from chatbot_mvp.remote.lines import CONNECT_SECONDS
from chatbot_mvp.settings.model import Settings


def v1(base_url: str) -> str:
    """Return the address ending in exactly one ``/v1``."""
    base = base_url.rstrip("/")
    return base if base.endswith("/v1") else f"{base}/v1"


def calls_for(endpoint: Endpoint, settings: Settings, served: int | None = None) -> Calls:
    """Requests to ``endpoint`` under the provider's limiter, with the patience and the concurrency of ``settings``.

    Args:
        served: requests that the provider can serve at the same time, where that is known.
    """
    limiter = limiter_for(endpoint.provider, endpoint.base_url, served)
    at_once = settings.nim_max_concurrent_requests
    return Calls(endpoint, limiter, settings.nim_max_retries, settings.nim_request_timeout, at_once)


class JsonEndpoint:
    """Posts and gets JSON under ``<base_url>/v1``. Safe to share between threads.

    A request that fails raises a ``ProviderError``, whose subclass gives the reason.
    """

    def __init__(self, calls: Calls, timeout: float) -> None:
        """
        Args:
            timeout: maximum wait for a reply, in seconds.

        Raises:
            MissingPackage: httpx is not installed.
        """
        try:
            import httpx
        except ImportError as error:
            raise MissingPackage(feature="NVIDIA NIM", package="httpx", command="pip install httpx") from error
        self.calls = calls
        self._timeout = timeout
        key = calls.endpoint.key.get_secret_value()
        self._client = httpx.Client(
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS)),
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )

    def post(self, path: str, payload: dict[str, Any]) -> Any:
        """Post ``payload`` and return the decoded reply."""
        return self._request("POST", path, payload)

    def get(self, path: str) -> Any:
        """Get ``path`` and return the decoded reply."""
        return self._request("GET", path, None)

    def unusable(self, reason: str, cause: Exception | None = None) -> NoReturn:
        """Report that a reply cannot be used.

        Raises:
            ProviderReplyUnusable: always.
        """
        self.calls.fail(Failure("reply", reason), cause)

    def _request(self, method: str, path: str, payload: dict[str, Any] | None) -> Any:
        url = f"{v1(self.calls.endpoint.base_url)}/{path}"

        def attempt() -> Any:
            response = self._client.request(method, url, json=payload)
            response.raise_for_status()
            return response.json()

        return self.calls.run(attempt, self._failure_of)

    def _failure_of(self, error: Exception) -> Failure | None:
        import httpx

        if isinstance(error, httpx.HTTPStatusError):
            response = error.response
            try:
                body = response.json()
            except (ValueError, RecursionError):
                body = response.text
            return failure_of_status(response.status_code, response.headers, body)
        if isinstance(error, httpx.TimeoutException):
            return Failure("unavailable", f"no answer within {self._timeout:g} s")
        if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol)):
            return Failure("request", f"the address is not valid: {error}")
        if isinstance(error, httpx.TransportError):
            return Failure("unavailable", f"the connection failed ({error or type(error).__name__})")
        if isinstance(error, (httpx.HTTPError, ValueError, RecursionError)):
            return Failure("reply", f"it is not JSON ({error})")
        return None
