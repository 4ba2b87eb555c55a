"""Inputs with which a reader once failed, by fuzz target."""

from __future__ import annotations

import io
import zipfile


def _zip(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name or "x", b"")
    # zipfile refuses to write an entry without a name, so it is shortened afterwards.
    return out.getvalue() if name else out.getvalue().replace(b"\x01\x00\x00\x00x", b"\x00\x00\x00\x00x")


FOUND: tuple[tuple[str, str, bytes], ...] = (
    # (target, what happened, input)
    ("chunker", "recursion per heading", b"# a\n" * 1_500),
    ("answer-text", "recursion per heading", b"# a\n" * 1_500),
    ("dataset-beir", "deep nesting", b"[" * 5_000 + b"\x1e{}\x1e"),
    ("dataset-beir", "deep nesting in queries", b'{"_id": "d", "text": "x"}\x1e' + b'{"a":' * 5_000 + b"\x1e"),
    ("question-file", "deep nesting", b"[" * 5_000),
    ("answers-file", "deep nesting", b"j" + b"[" * 5_000),
    ("answers-file", "deep nesting in a cell", b"cuser_input,retrieved_contexts\nq," + b"[" * 5_000),
    ("dataset-zip", "an entry named .", _zip(".")),
    ("dataset-zip", "an entry without a name", _zip("")),
    ("html", "blanks in quadratic time", b"<p>a" + b" " * 60_000 + b"X</p>"),
    ("answer-text", "blanks in quadratic time", b"a" + b"\t" * 60_000 + b"X"),
    ("answer-text", "a quotation longer than the text", b'"' * 30_000),
    ("chunker", "a bracket before blanks", b"[" + b" " * 60_000 + b"X"),
    ("bundle", "deep nesting", b"{}\x1e" + b"[" * 5_000 + b"\x1e"),
    ("conversation", "deep nesting", b'{"type":' * 5_000),
    ("judge-reply", "repair in quadratic time", b"{0}" * 1_600),
    ("judge-reply", "repair of quotation marks in quadratic time", b'["' + b'"a' * 20_000),
    ("judge-files", "deep nesting", b"ta = " + b"[" * 5_000),
    ("ragas-config", "deep nesting", b"[" * 5_000),
    ("ragas-config", "400,000 characters in ten seconds", b"- a\n" * 100_000),
    ("ragas-config", "a date that is none", b"language: 2024-99-99"),
    ("ragas-config", "a number of 5,000 digits", b"judge: " + b"9" * 5_000),
    ("reply", "deep nesting", b"\x00\x00" + b"[" * 5_000),
    ("reply", "deep nesting in an error", b"\x02\x00" + b"[" * 5_000),
    ("stream", "deep nesting", b"data: " + b"[" * 5_000 + b"\n\n"),
)
