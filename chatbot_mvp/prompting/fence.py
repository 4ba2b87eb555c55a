"""Keeps text of documents apart from instructions: it goes to a model between markers it cannot contain."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_OPENING = "<＜﹤‹〈⟨⟪《≪❬❮❰ᐸ˂⦑⧼𝈶"
_CLOSING = ">＞﹥›〉⟩⟫》≫❭❯❱ᐳ˃⦒⧽𝈷"
_ESCAPES = str.maketrans({**dict.fromkeys(_OPENING, "&lt;"), **dict.fromkeys(_CLOSING, "&gt;")})
_CITATION = re.compile(r"[\[［〔【](\s*/?\s*(?:\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*|INST)\s*)[\]］〕】]", re.I)
_KEPT_INVISIBLE = "\u200c\u200d"  # joiners that some scripts and emoji are written with


def fence_name(*texts: str) -> str:
    """The markers' name for a prompt of these texts ("datos-3f9a01c2").

    Equal for equal texts, so that a cached reply is found again; nobody who writes a document can know it, since it
    depends on all the texts, the question included.
    """
    digest = hashlib.sha256("\x00".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"datos-{digest[:8]}"


def as_data(text: str) -> str:
    """``text`` without anything that could pass for a marker or for a citation.

    Angle brackets and what looks like them become ``&lt;`` and ``&gt;`` (so no marker, and no model's own ``<|…|>``,
    can stand there); a bracketed number becomes one in parentheses, since ``[2]`` is how an answer cites; characters
    that nobody sees are dropped.
    """
    visible = "".join(
        char for char in text if char in _KEPT_INVISIBLE or unicodedata.category(char) not in ("Cf", "Cs", "Co")
    )
    return _CITATION.sub(r"(\1)", visible.translate(_ESCAPES))


def from_data(text: str) -> str:
    """A model's words with the brackets back that ``as_data`` had escaped."""
    return text.replace("&lt;", "<").replace("&gt;", ">")
