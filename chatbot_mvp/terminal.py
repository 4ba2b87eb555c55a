"""What is printed on a terminal, where questions, titles and documents are texts of others.

Control characters can move the cursor, set the title of the window or type into the shell; characters of direction can
make a line read otherwise than it is. They are printed as their escape sequences.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters C0 and C1 except tab and line feed, separators of lines, and characters of direction."""


def visible(text: str) -> str:
    r"""Return the text with what a terminal would obey as escape sequences: ESC becomes ``\x1b``."""
    return _OBEYED.sub(lambda found: _escape(ord(found[0]), r"\x{:02x}"), text)


def say(text: str = "", *, error: bool = False) -> None:
    """Print a text and a line feed on stdout, or on stderr if ``error``. The only place of the commands that prints."""
    print(visible(text), file=sys.stderr if error else (_kept or sys.stdout), flush=error)


_kept: TextIO | None = None
"""What ``say`` prints on within ``stdout_kept``."""


@contextmanager
def stdout_kept() -> Iterator[None]:
    """Keep stdout for ``say`` alone: what libraries and their processes write there goes to stderr.

    The client of a cluster, for one, prints on stdout that a node has died. Nothing changes where stdout is no file, as
    in a test.
    """
    global _kept
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        yield
        return
    sys.stdout.flush()
    own = os.dup(number)
    kept = _kept = open(own, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    try:
        os.dup2(sys.stderr.fileno(), number)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _kept = None
        with suppress(BrokenPipeError):  # the reader left, as `| head` does
            kept.close()
        os.dup2(own, number)
        os.close(own)


def json_line(value: Any, **options: Any) -> str:
    """Return JSON on one line, in which what a terminal would obey is escaped as JSON does it."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return _OBEYED.sub(lambda found: _escape(ord(found[0]), r"\u{:04x}"), text)


def _escape(number: int, short: str) -> str:
    return (short if number < 0x100 else r"\u{:04x}").format(number)
