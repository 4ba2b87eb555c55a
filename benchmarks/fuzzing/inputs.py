"""Hostile texts, made by rules, so that no large file is stored and every run tries the same ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

PATTERNS: tuple[str, ...] = (
    *("a", " ", "\n", "\t", "\x00", "\u202e", "\u2066\u2069", "\ufeff", "\u0301", "\ud800", "ﬁ", "İ", "ß", "🙂\u200d"),
    *("(", "[", "{", "<", '"', "'", "\\", "`", "|", "#", "*", "_", "~", "-", ".", "…", "&", "&#x", "%", "$", "=", ":"),
    *("# a\n", "####### ", "**a", "*a*", "_a_", "`a", "```\n", "~~~\n## a\n\n", "| a ", "|a|\n", "|-|\n", "- ", "1. "),
    *(
        "- a\n",
        "1.1.1.1 ",
        "Art. I ",
        "> ",
        "<b>",
        "<!--",
        "<table><tr><td>",
        "</div>",
        "<div>",
        "<a href=x>",
        "<?xml ",
    ),
    *("{{", "{0}", "{fence}", "</datos>", "<think>", "</think>", "[1] ", "[1, 2]", "[[1]", "PWNED ", "\u2028", "\x85"),
    *('{"a":', '{"score": 1} ', '[{"a": ', '"\\ud800"', "1e999", "-0", "NaN", "1" * 9, "0.", "0,", "1/1 ", "8 de 10 "),
    *("data: ", "data: {}\n\n", "event: x\n", "id\tQ0\td\t1\t1.0\tr\n", "q Q0 d 1 nan t\n", "a,b\n", '""', "'', "),
    *("U.S.", "a.a.", "A.", "...", "!? ", "a' ", "l'a", "x-y", "ño", "año s ", "aaab", "¿", "¿a? ", "12.34,", "1.000,"),
    *("../", "/etc/passwd\n", "C:\\", "\u0000.md", "con.txt ", "=cmd|' /C calc'!A0", "%2e%2e/", "file:///", "::$DATA"),
)
"""Pieces whose repetition makes backtracking regular expressions, nesting or counters grow."""

_FILLERS = (" ", "\t", "\n", "a", "1", "-", ".", "\xa0", "<", '"')

WHOLE: tuple[bytes, ...] = (
    b"",
    b"\xef\xbb\xbf",
    b"\xff\xfe\x00a",
    b"\x00" * 64,
    bytes(range(256)),
    b"PK\x03\x04" + b"\x00" * 40 + b"word/",
    b"%PDF-1.7\n1 0 obj << /Length 99999999999 >> stream\n",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 500,
    b"[" * 5_000,
    b'{"a":' * 5_000,
    b"[" * 100_000 + b"]" * 100_000,
    b"9" * 5_000,
    b"-" * 3_000 + b"\n" + b"=" * 3_000,
    b'"\\ud800"',
    "\u202eodidnocse\u202c \u2066a\u2069 \u200b\u200d\ufeff".encode(),
    b"<html>" + b"<div>" * 3_000 + b"x",
    b"<table>" + b"<tr><td><table>" * 400,
    b"<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]><html>&b;</html>",
)
"""Complete inputs that no repetition makes."""


def repeated(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield (name, input) for each pattern, repeated up to ``size`` characters, with and without an end of its own."""
    for pattern in PATTERNS:
        text = pattern * (size // len(pattern))
        yield f"{pattern!r} × {size}", encoded(text)
        yield f"{pattern!r} × {size} + end", encoded(text + "!\nX\n")


def pairs(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield (name, input) for two patterns in turn: overlapping alternatives need two to backtrack."""
    for one, other in itertools.pairwise(PATTERNS):
        yield f"{one!r} {other!r} × {size}", encoded((one + other) * (size // len(one + other)))


def runs(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield (name, input) for each pattern before a long run of one character, which ends in another one."""
    for pattern, filler in itertools.product(PATTERNS, _FILLERS):
        yield f"{pattern!r} + {filler!r} × {size}", encoded(f"{pattern}{filler * size}X")


def encoded(text: str) -> bytes:
    """Return UTF-8 that keeps lone surrogates, as ``decoded`` reads it."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return the text of any bytes, lone surrogates included."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def split(data: bytes, parts: int) -> list[bytes]:
    """Split an input at the byte 0x1e into exactly ``parts`` fields; missing ones are empty."""
    found = data.split(b"\x1e", parts - 1)
    return [*found, *([b""] * (parts - len(found)))]
