"""Inputs with which a reader once failed, by fuzz target."""

from __future__ import annotations

FOUND: tuple[tuple[str, str, bytes], ...] = (
    # (target, what happened, input)
    ("chunker", "recursion per heading", b"# a\n" * 1_500),
    ("answer-text", "recursion per heading", b"# a\n" * 1_500),
    ("dataset-beir", "deep nesting", b"[" * 5_000 + b"\x1e{}\x1e"),
    ("dataset-beir", "deep nesting in queries", b'{"_id": "d", "text": "x"}\x1e' + b'{"a":' * 5_000 + b"\x1e"),
    ("question-file", "deep nesting", b"[" * 5_000),
    ("answers-file", "deep nesting", b"j" + b"[" * 5_000),
    ("answers-file", "deep nesting in a cell", b"cuser_input,retrieved_contexts\nq," + b"[" * 5_000),
    ("bundle", "deep nesting", b"{}\x1e" + b"[" * 5_000 + b"\x1e"),
    ("conversation", "deep nesting", b'{"type":' * 5_000),
    ("judge-reply", "repair in quadratic time", b"{0}" * 1_600),
    ("judge-reply", "repair of quotation marks in quadratic time", b'["' + b'"a' * 20_000),
    ("judge-files", "deep nesting", b"ta = " + b"[" * 5_000),
    ("reply", "deep nesting", b"\x00\x00" + b"[" * 5_000),
    ("reply", "deep nesting in an error", b"\x02\x00" + b"[" * 5_000),
    ("stream", "deep nesting", b"data: " + b"[" * 5_000 + b"\n\n"),
)
