"""Let Linux confine this process for good to reading some folders, by Landlock. Other systems are left as they are.

The three system calls have one number on all processors that Python runs on; see landlock(7). PyPI has no released
package for them.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVS = 38
_PATH_BENEATH = 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_SYSTEM = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
)
"""What the system's own libraries need. Nothing in them is secret."""


def confine(readable: Iterable[str]) -> int:
    """Allow this thread, and what it starts, to read these folders and the system's libraries, and no other file.

    From Landlock's version 4 on TCP is refused, too, and from version 6 on signals to other processes. Files that are
    open stay open.

    Args:
        readable: paths of files and folders; those that cannot be reached are left out.

    Returns:
        Landlock's version; 0 if this system has none, or refuses. Nothing is then restricted.
    """
    with suppress(ImportError, OSError, AttributeError, ValueError):
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)

        def call(number: int, *arguments: object) -> int:
            result: int = libc.syscall(ctypes.c_long(number), *arguments)
            if result < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            return result

        version = call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
        # All 13 kinds of access to files, and what later versions added: moving, truncating, device control.
        files = (1 << 13) - 1 | (version >= 2) << 13 | (version >= 3) << 14 | (version >= 5) << 15
        handled = [files, *([3] if version >= 4 else []), *([3] if version >= 6 else [])]
        attributes = struct.pack(f"{len(handled)}Q", *handled)
        rules = call(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
        try:
            for path in (*readable, *_SYSTEM):
                try:
                    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
                except (FileNotFoundError, NotADirectoryError, PermissionError):
                    continue  # nothing can be read there anyway
                try:
                    access = _READ_FILE | (_READ_FOLDER if os.path.isdir(path) else 0)  # noqa: PTH112
                    rule = struct.pack("=Qi", access, place)
                    call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
                finally:
                    os.close(place)
            if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
                call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
                return version
        finally:
            os.close(rules)
    return 0


def readable_folders(root: Path, path: Iterable[str]) -> list[str]:
    """Return the folders, each with a separator at its end, that hold the program and its libraries.

    Args:
        root: the folder with the package ``chatbot_mvp``. Of a checkout, which also has settings and data, only the
            package is readable; where packages are installed, all of it.
        path: as ``sys.path``.
    """
    installed = any(root.glob("*.dist-info"))
    libraries = [Path(entry) for entry in path if entry and (installed or Path(entry).resolve() != root)]
    # Each under both names: an environment may be reached through a link, and modules are opened by its name.
    names = [*(name for entry in libraries for name in {entry.absolute(), entry.resolve()}), root / "chatbot_mvp"]
    return [str(name) + os.sep for name in names]
