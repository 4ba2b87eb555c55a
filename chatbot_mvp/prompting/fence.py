"""Separate document text from instructions in prompts, by markers that the text cannot contain."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_OPENING = "<＜﹤‹〈⟨⟪《≪❬❮❰ᐸ˂⦑⧼𝈶"
_CLOSING = ">＞﹥›〉⟩⟫》≫❭❯❱ᐳ˃⦒⧽𝈷"
# Possessive quantifiers keep the match linear, even for a bracket before a megabyte of blanks.
_CITATION = re.compile(r"[\[［〔【](\s*+/?\s*+(?:\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*|INST)\s*)[\]］〕】]", re.I)
_KEPT_INVISIBLE = "\u200c\u200d"  # joiners that some scripts and emoji need


class _Escapes(dict[int, str]):
    """Maps a code point to its replacement for ``str.translate``; "" for an invisible character."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        dropped = unicodedata.category(char) in ("Cf", "Cs", "Co") and char not in _KEPT_INVISIBLE
        return self.setdefault(code, "" if dropped else char)


_ESCAPES = _Escapes(str.maketrans({**dict.fromkeys(_OPENING, "&lt;"), **dict.fromkeys(_CLOSING, "&gt;")}))


def fence_name(*texts: str) -> str:
    """Return the name of the markers for a prompt with these texts ("datos-3f9a01c2").

    Equal texts give equal names, so that cached replies are found. The author of a document cannot predict the name,
    because it depends on all texts, including the question.
    """
    digest = hashlib.sha256("\x00".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"datos-{digest[:8]}"


def as_data(text: str) -> str:
    """Return ``text`` without anything that a model could take for a marker or a citation.

    Angle brackets and similar characters become ``&lt;`` and ``&gt;``, which also disables a model's special tokens
    (``<|…|>``). A number in brackets gets parentheses, because answers cite as ``[2]``. Invisible characters are
    dropped.
    """
    return _CITATION.sub(r"(\1)", text.translate(_ESCAPES))


def from_data(text: str) -> str:
    """Restore in a model's reply the angle brackets that ``as_data`` had escaped."""
    return text.replace("&lt;", "<").replace("&gt;", ">")
