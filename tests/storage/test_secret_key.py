"""The key is random, private, kept, and one for all who ask for it at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from chatbot_mvp.storage.secret_key import kept_key


def test_the_key_is_private_and_the_same_for_all_who_ask_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "visitor.key"
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(kept_key, [path] * 16))
    [key] = keys
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)  # as a restored backup may have it
    assert kept_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_torn_key_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "visitor.key"
    path.write_bytes(b"torn")
    assert len(kept_key(path)) == 32
