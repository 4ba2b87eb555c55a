"""Sends requests to one endpoint: applies its limiter, retries where that can help, raises ProviderError."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NoReturn, TypeAlias, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.remote.failures import Endpoint, Failure, error_of, safe_cause
from chatbot_mvp.remote.limiter import Limiter, Slot

T = TypeVar("T")
Items: TypeAlias = Generator[T, None, None]
FailureOf = Callable[[Exception], Failure | None]
"""Converts an exception of a client library to a ``Failure``; None if it is not a failure of the provider."""

_BACKOFF = wait_random_exponential(multiplier=0.4, max=20)
_SPREAD = wait_random_exponential(multiplier=0.05, max=0.5)


class _Passing(Exception):
    """Internal: a failure that a retry may fix."""

    def __init__(self, failure: Failure, error: Exception) -> None:
        super().__init__(failure.reason)
        self.failure = failure
        self.error = error


class Calls:
    """Sends requests to one endpoint, limited and retried. Safe to share between threads."""

    def __init__(
        self, endpoint: Endpoint, limiter: Limiter, retries: int, longest_wait: float, at_once: int | None = None
    ) -> None:
        """
        Args:
            endpoint: named in errors.
            limiter: caps concurrency and rate; shared by all requests to the same address.
            retries: repetitions after the first try, only for 429, 5xx, time-outs and lost connections.
            longest_wait: seconds; if the provider asks for a longer pause, the error is raised at once.
            at_once: the caller's own bound of requests under way, as in ``Limiter.acquire``.
        """
        self.endpoint = endpoint
        self.limiter = limiter
        self._retries = retries
        self._longest_wait = longest_wait
        self._at_once = at_once

    def run(self, attempt: Callable[[], T], failure_of: FailureOf) -> T:
        """Call ``attempt``, with retries, and return its result.

        Raises:
            ProviderError: the subclass gives the reason; the client library's exception is chained.
        """

        def once() -> T:
            with self.limiter.slot(self._at_once) as slot:
                try:
                    result = attempt()
                except Exception as error:  # noqa: BLE001 - raised again unless failure_of recognises it
                    self._failed(error, failure_of, slot)
            self.limiter.succeeded(slot)
            return result

        return self._retried(once)

    def stream(self, attempt: Callable[[], Items[T]], failure_of: FailureOf) -> Items[T]:
        """Yield the items of the generator that ``attempt`` returns.

        Failures before the first item are retried with a new generator; later ones are raised. A slot of the limiter
        is held until the last item, or until ``close``.

        Raises:
            ProviderError: as in ``run``.
        """

        def once() -> tuple[Slot, Items[T], list[T]]:
            slot = self.limiter.acquire(self._at_once)
            try:
                items = attempt()
                return slot, items, [next(items)]
            except StopIteration:
                return slot, items, []
            except Exception as error:  # noqa: BLE001 - as in run
                slot.release()
                self._failed(error, failure_of, slot)
            except BaseException:
                slot.release()
                raise

        slot, items, first = self._retried(once)
        try:
            yield from first
            while True:
                try:
                    item = next(items)
                except StopIteration:
                    break
                except Exception as error:
                    failure = failure_of(error)
                    if failure is None:
                        raise
                    self.fail(failure, error)
                yield item
            self.limiter.succeeded(slot)
        finally:
            items.close()
            slot.release()

    def fail(self, failure: Failure, cause: BaseException | None = None, tries: int = 1) -> NoReturn:
        """Raise the error for ``failure``.

        Args:
            cause: exception to chain; if its text contains the key, a scrubbed copy is chained instead.
            tries: number of requests sent.

        Raises:
            ProviderError: always.
        """
        error = error_of(failure, self.endpoint, tries)
        raise error from (None if cause is None else safe_cause(cause, self.endpoint.key))

    def _failed(self, error: Exception, failure_of: FailureOf, slot: Slot) -> NoReturn:
        failure = None if isinstance(error, ChatbotError) else failure_of(error)
        if failure is None:
            raise error
        waits = failure.retry_after or 0.0
        patient = waits <= self._longest_wait
        if failure.kind == "rate":
            # If the requested pause is too long, other requests do not wait for it either; they fail at once.
            self.limiter.throttled(slot, waits if patient else 0.0)
        if failure.passing and patient:
            raise _Passing(failure, error)
        self.fail(failure, error)

    def _retried(self, once: Callable[[], T]) -> T:
        retrying = Retrying(
            retry=retry_if_exception_type(_Passing),
            stop=stop_after_attempt(self._retries + 1),
            wait=_wait,
            retry_error_callback=self._give_up,
        )
        return retrying(once)

    def _give_up(self, state: RetryCallState) -> NoReturn:
        last = state.outcome.exception() if state.outcome else None
        assert isinstance(last, _Passing)
        self.fail(last.failure, last.error, state.attempt_number)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.failure.retry_after if isinstance(error, _Passing) else None
    return _BACKOFF(state) if asked is None else asked + _SPREAD(state)
