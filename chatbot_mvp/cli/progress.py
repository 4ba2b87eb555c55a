"""Shows progress on stderr (a bar on a terminal, otherwise a line every few seconds) and handles Ctrl-C."""

from __future__ import annotations

import logging
import signal
import sys
import time
from types import TracebackType
from typing import Any, Self

from chatbot_mvp import logs
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.terminal import say
from chatbot_mvp.types import Progress

_log = logging.getLogger(__name__)

_BAR_EVERY_S = 0.1
_LINE_EVERY_S = 5.0


class ProgressLine:
    """A ``ProgressCallback`` that shows how far the work is. Use it in a ``with`` block, which ends the bar.

    The first Ctrl-C (or SIGTERM) stops the run at the next safe point; a second one interrupts it at once.
    """

    def __init__(self) -> None:
        self._bar = None if logs.is_jsonl() or not sys.stderr.isatty() else _PhaseBars()
        self._every = _BAR_EVERY_S if self._bar else _LINE_EVERY_S
        self._shown_at = 0.0
        self._shown = ("", -1)
        self._stop = False
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.signal(signal.SIGTERM, self._on_interrupt)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._bar:
            self._bar.end()

    def _on_interrupt(self, *_: object) -> None:
        self._stop = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __call__(self, progress: Progress) -> None:
        if self._stop:
            raise RunStopped(run_id="?")
        now, state = time.monotonic(), (progress.phase, progress.done)
        ended = progress.done == progress.total and state != self._shown
        if progress.phase == self._shown[0] and now - self._shown_at < self._every and not ended:
            return
        self._shown_at, self._shown = now, state
        if self._bar:
            self._bar.show(progress)
        elif logs.is_jsonl():
            _log.info("progress", extra={"event": progress_event(progress)})
        else:
            say(f"{progress.phase}: {progress.done}/{progress.total}{_figures(progress)}", error=True)


def progress_event(progress: Progress) -> dict[str, object]:
    """Return the fields of a progress line with LOG_FORMAT=jsonl."""
    rate, left = progress.rate, progress.seconds_left
    return {
        "event": "progress",
        "phase": progress.phase,
        "done": progress.done,
        "total": progress.total,
        "rate": None if rate is None else round(rate, 3),
        "seconds_left": None if left is None else round(left, 1),
        "failed": progress.failed,
        "tokens": progress.tokens,
        "cost_usd": None if progress.cost_usd is None else round(progress.cost_usd, 6),
    }


def _figures(progress: Progress) -> str:
    parts = []
    if progress.rate:
        parts.append(f"{progress.rate:.1f}/s")
    if progress.seconds_left:
        parts.append(f"{progress.seconds_left:.0f} s left")
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.tokens:
        parts.append(f"{progress.tokens:,} tokens")
        parts.append("cost not known" if progress.cost_usd is None else f"{progress.cost_usd:.4f} USD")
    return "".join(f"  {part}" for part in parts)


class _PhaseBars:
    """Shows one bar per phase. When a phase ends, its bar stays if it counted more than one unit."""

    def __init__(self) -> None:
        # Late, because Rich takes time to import.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("{task.description:<14}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            console=Console(stderr=True),
            redirect_stdout=False,
        )
        self._phases: dict[str, Any] = {}
        self._running = ""

    def show(self, progress: Progress) -> None:
        if progress.phase not in self._phases:
            self._leave()
            self._bars.start()
            self._phases[progress.phase] = self._bars.add_task(progress.phase, figures="")
        self._running = progress.phase
        self._bars.update(
            self._phases[progress.phase],
            completed=progress.done,
            total=progress.total or None,
            figures=_figures(progress),
            visible=True,
        )

    def end(self) -> None:
        self._leave()
        self._bars.stop()

    def _leave(self) -> None:
        task = self._phases.get(self._running)
        if task is not None:
            left = self._bars.tasks[self._bars.task_ids.index(task)]
            # Bars such as "export 0/1" or "queued 0/?" carry no information once the phase is over.
            self._bars.update(task, visible=(left.total or 0) > 1)
