"""A registry: the program's own rows of a kind and, behind them, those that are added."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from chatbot_mvp.plugins.finding import added

Row = TypeVar("Row")


class Registry(Mapping[str, Row], Generic[Row]):
    """Name -> row, the program's own first. Safe to share between threads.

    What is added is loaded when the registry is first read, not when the module that has it is imported. So a plugin's
    module may import any module of the program. While plugins are loaded, the registry has only the program's own rows.
    """

    def __init__(
        self, kind: str, row_type: type[Row], own: Iterable[Row], refused: Callable[[Row], str] = lambda row: ""
    ) -> None:
        """
        Args:
            kind: a name in ``plugins.kinds.KINDS``.
            own: the program's rows; each has a ``name``.
            refused: returns why an added row cannot be used; "" if it can.
        """
        self._kind, self._type, self._refused = kind, row_type, refused
        self.own: Mapping[str, Row] = {_name(row): row for row in own}
        """The program's rows alone."""
        self._all: Mapping[str, Row] | None = None
        self._loading = False
        self._lock = threading.RLock()

    def __getitem__(self, name: str) -> Row:
        return self.own[name] if name in self.own else self._rows()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())

    def _rows(self) -> Mapping[str, Row]:
        if self._all is not None:
            return self._all
        with self._lock:  # a thread that is loading may enter again, others wait
            if self._all is None and not self._loading:
                self._loading = True
                try:
                    self._all = {**self.own, **added(self._kind, self._type, self.own, self._refused)}
                finally:
                    self._loading = False
            return self._all or self.own


class Names(Sequence[str]):
    """Names of rows, which are read from a registry at each use."""

    def __init__(self, read: Callable[[], Iterable[str]]) -> None:
        self._read = read

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return tuple(self._read())[index]

    def __len__(self) -> int:
        return len(tuple(self._read()))


def _name(row: Any) -> str:
    return str(row.name)
