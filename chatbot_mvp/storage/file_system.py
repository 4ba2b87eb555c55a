"""Which file system a path is on."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_NETWORK = re.compile(
    r"nfs4?|cifs|smb[23]?|smbfs|ceph|lustre|glusterfs|gpfs|beegfs|afs|9p|virtiofs|"
    r"fuse\.(?!.*(?:overlay|gocryptfs|encfs|ntfs|exfat|portal)).*"
)
"""Types of file systems that several machines may use at the same time."""
_MOUNTS = Path("/proc/self/mountinfo")


def is_on_network(path: Path, mounts: Path = _MOUNTS) -> bool:
    """Return whether a path is on a file system that other machines may use, too. False where that is unknown.

    Args:
        mounts: list of mounted file systems, in the format of Linux.
    """
    lines: list[str] = []
    with suppress(OSError):
        lines = mounts.read_text("utf-8", "replace").splitlines()
    whole = path.absolute()
    best, kind = -1, ""
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split()
        if not separator or len(fields) < 5:
            continue
        point = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), fields[4]))
        # Of several file systems mounted at one place, the last one is seen.
        if whole.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return _NETWORK.fullmatch(kind) is not None
