"""What is printed on a terminal, where questions, titles and documents are texts of others.

Control characters can move the cursor, set the title of the window or type into the shell; characters of direction can
make a line read otherwise than it is. They are printed as their escape sequences.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters C0 and C1 except tab and line feed, separators of lines, and characters of direction."""


def visible(text: str) -> str:
    r"""Return the text with what a terminal would obey as escape sequences: ESC becomes ``\x1b``."""
    return _OBEYED.sub(lambda found: _escape(ord(found[0]), r"\x{:02x}"), text)


def say(text: str = "", *, error: bool = False) -> None:
    """Print a text and a line feed on stdout, or on stderr if ``error``. The only place of the commands that prints."""
    print(visible(text), file=sys.stderr if error else sys.stdout, flush=error)


def json_line(value: Any, **options: Any) -> str:
    """Return JSON on one line, in which what a terminal would obey is escaped as JSON does it."""
    text = json.dumps(value, ensure_ascii=False, **options)
    return _OBEYED.sub(lambda found: _escape(ord(found[0]), r"\u{:04x}"), text)


def _escape(number: int, short: str) -> str:
    return (short if number < 0x100 else r"\u{:04x}").format(number)
