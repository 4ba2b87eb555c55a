"""Write a formula of Office (OMML), of a page or of OpenDocument (MathML) in one line: "A = πr^2"."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.documents.reading.extracted import RAISED

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_PARTS = {
    "msup": ("e", "sup"),
    "mover": ("e", "sup"),
    "msub": ("e", "sub"),
    "munder": ("e", "sub"),
    "msubsup": ("e", "sub", "sup"),
    "munderover": ("e", "sub", "sup"),
    "mfrac": ("num", "den"),
    "mroot": ("e", "deg"),
}
"""Element of MathML -> what its parts are called in OMML."""
_SILENT = ("annotation", "annotation-xml", "mphantom")
_WORDS = ("t", "mi", "mn", "mo", "mtext", "ms")
_UNSEEN = {0x2061: " ", 0x2062: "", 0x2063: "", 0x2064: " "}
"""Signs between a function and what it is of, between factors, between indices, and in 2½."""


def linear(element: Any) -> str:
    """Return a formula, or a part of one, as text."""
    name = _name(element)
    if name in _WORDS:
        return (element.text or "").translate(_UNSEEN)
    children = [child for child in element if isinstance(child.tag, str)]
    parts = dict(zip(_PARTS.get(name) or map(_name, children), children, strict=False))

    def part(key: str) -> str:
        return linear(parts[key]).strip() if key in parts else ""

    def said(path: str, usual: str) -> str:
        found = element.find("/".join(f"{_M}{step}" for step in path.split("/")))
        return usual if found is None else str(found.get(f"{_M}val", ""))

    below, above = part("sub"), part("sup")
    limits = (below and f"_{_grouped(below)}") + (above and f"^{_grouped(above)}")
    if name in ("sSup", "sSub", "sSubSup", "sPre") or (limits and name in _PARTS):
        return _grouped(part("e")) + limits
    if name in ("f", "mfrac"):
        bare = said("fPr/type", "") == "noBar" or element.get("linethickness", "1")[:1] == "0"
        return f"{_grouped(part('num'))}{'¦' if bare else '/'}{_grouped(part('den'))}"
    if name in ("rad", "mroot"):
        return f"{part('deg').translate(RAISED)}√{_grouped(part('e'))}"
    if name == "msqrt":
        return f"√{_grouped(_joined(children))}"
    if name == "nary":
        return f"{said('naryPr/chr', '∫')}{limits} {part('e')}"
    if name == "d":
        inside = said("dPr/sepChr", "|").join(linear(child) for child in element.findall(f"{_M}e"))
        return f"{said('dPr/begChr', '(')}{inside}{said('dPr/endChr', ')')}"
    if name == "mfenced":
        inside = element.get("separators", ",").strip()[:1].join(map(linear, children))
        return f"{element.get('open', '(')}{inside}{element.get('close', ')')}"
    if name == "func":
        return f"{part('fName')} {part('e')}"
    if name in ("limLow", "limUpp"):
        return f"{part('e')}{'_' if name == 'limLow' else '^'}{_grouped(part('lim'))}"
    if name in ("m", "mtable"):
        rows = (", ".join(linear(cell).strip() for cell in row if _name(cell) in ("e", "mtd")) for row in children)
        return f"[{'; '.join(filter(None, rows))}]"
    return _joined(children, "\n" if name in ("oMathPara", "eqArr") else "")


def _name(element: Any) -> str:
    """Return what an element is called, also where its prefix is not declared; "" for a comment."""
    return element.tag.rpartition("}")[2].rpartition(":")[2] if isinstance(element.tag, str) else ""


def _joined(children: list[Any], joint: str = "") -> str:
    whole, before, last = "", "", "r"
    for child in children:
        key = _name(child)
        if key.endswith("Pr") or key in _SILENT:
            continue  # how it looks, or the same in another language
        text = linear(child)
        whole += (joint if whole else "") + " " * _are_apart(before, last, text, key) + text
        before, last = text, key
    return whole


def _are_apart(before: str, last: str, text: str, key: str) -> bool:
    """Return whether two parts of a formula would be read as one: "2" and "1/2", "cos" and "b"."""
    if not (before[-1:].isalnum() and text[:1].isalnum()):
        return False
    if key in ("func", "f", "mfrac") or (key != "r" and before[-1].isdigit() and text[0].isdigit()):
        return True
    return last != "r" and (last not in _WORDS or any(len(one) > 1 and one.isalpha() for one in (before, text)))


def _grouped(text: str) -> str:
    closed = text[:1] == "(" and text.find(")") == len(text) - 1
    return text if len(text) < 2 or text.isdecimal() or text.isalpha() or closed else f"({text})"
