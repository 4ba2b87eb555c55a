"""Find out in which encoding a text was written."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 100_000
_USUAL = re.compile(r"[áéíóúüñçàèìòùâêîôûäëïöãõåæøßœºª¿¡«»“”‘’–—…€°·©§]", re.I)
"""What stands beyond ASCII in texts of western languages."""
_INSIDE = re.compile(r"(?<=[a-z])[^\x00-\x7f\w’'·\xad-](?=[a-z])|[\x80-\x9f]|(?<=[a-z])[À-Þ](?=[a-z])")
"""What never stands inside a word in small letters there."""
_FEW = 0.05
"""Share of damaged characters among all beyond ASCII up to which a text is UTF-8 nevertheless."""


def decode(content: bytes, declared: str = "") -> tuple[str, str, int]:
    """Return (text, its encoding, number of bytes that could not be read).

    Args:
        declared: the encoding that the file says it has; not believed if its bytes say otherwise.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            text = content.decode(encoding, "replace")
            return text, encoding, text.count("\ufffd")
    head = content[:_SAMPLE]
    zeros = [head[side::2].count(0) for side in (0, 1)]
    if max(zeros) > len(head) // 5 and min(zeros) < max(zeros) // 20:
        encoding = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
        text = content.decode(encoding, "replace")
        return text, encoding, text.count("\ufffd")
    for name in dict.fromkeys(("utf-8", declared)):
        try:
            if name:
                return content.decode(name), name, 0
        except (UnicodeDecodeError, LookupError):
            continue
    text = content.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if damaged <= _FEW * sum(char > "\x7f" for char in text) or damaged == 1 < len(text) // 1_000:
        return text, "utf-8", damaged
    found = [(_fit(name, head), name) for name in ("latin-1", "cp1252", "cp850", "mac-roman")]
    encoding = max(found, key=lambda pair: pair[0])[1]
    return content.decode(encoding, "replace"), encoding, 0


def _fit(encoding: str, head: bytes) -> int:
    try:
        text = head.decode(encoding)
    except UnicodeDecodeError:
        return -len(head)
    return len(_USUAL.findall(text)) - 3 * len(_INSIDE.findall(text))
