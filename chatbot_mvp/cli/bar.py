"""Progress bars on a terminal. Imported only there, because Rich takes time to import."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from chatbot_mvp.types import Progress


class PhaseBars:
    """Shows one bar per phase. When a phase ends, its bar stays if it counted more than one unit."""

    def __init__(self) -> None:
        self._bars = Bars(
            TextColumn("{task.description:<14}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
            console=Console(stderr=True),
            redirect_stdout=False,
        )
        self._phases: dict[str, TaskID] = {}
        self._running = ""

    def show(self, progress: Progress, figures: str) -> None:
        """Show how far the phase of ``progress`` is, followed by the text ``figures``."""
        if progress.phase not in self._phases:
            self._leave()
            self._bars.start()
            self._phases[progress.phase] = self._bars.add_task(progress.phase, figures="")
        self._running = progress.phase
        self._bars.update(
            self._phases[progress.phase],
            completed=progress.done,
            total=progress.total or None,
            figures=figures,
            visible=True,
        )

    def end(self) -> None:
        """Stop drawing; the bars stay on the terminal."""
        self._leave()
        self._bars.stop()

    def _leave(self) -> None:
        task = self._phases.get(self._running)
        if task is not None:
            left = self._bars.tasks[self._bars.task_ids.index(task)]
            # Bars such as "export 0/1" or "queued 0/?" carry no information once the phase is over.
            self._bars.update(task, visible=(left.total or 0) > 1)
