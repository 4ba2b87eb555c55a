"""Write a formula of Office (OMML) in one line: "A = πr^2"."""

from __future__ import annotations

from typing import Any

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def linear(element: Any) -> str:
    """Return a formula, or a part of one, as text."""
    name = element.tag.removeprefix(_M) if isinstance(element.tag, str) else ""
    if name == "t" or element.tag.endswith("}t"):
        return element.text or ""
    parts = {child.tag.removeprefix(_M): child for child in element if isinstance(child.tag, str)}

    def part(key: str) -> str:
        return linear(parts[key]).strip() if key in parts else ""

    def said(path: str, usual: str) -> str:
        found = element.find("/".join(f"{_M}{step}" for step in path.split("/")))
        return usual if found is None else str(found.get(f"{_M}val", ""))

    below, above = part("sub"), part("sup")
    limits = (below and f"_{_grouped(below)}") + (above and f"^{_grouped(above)}")
    if name in ("sSup", "sSub", "sSubSup", "sPre"):
        return _grouped(part("e")) + limits
    if name == "f":
        line = "¦" if said("fPr/type", "") == "noBar" else "/"
        return f"{_grouped(part('num'))}{line}{_grouped(part('den'))}"
    if name == "rad":
        return f"{part('deg')}√{_grouped(part('e'))}"
    if name == "nary":
        return f"{said('naryPr/chr', '∫')}{limits} {part('e')}"
    if name == "d":
        inside = said("dPr/sepChr", "|").join(linear(child) for child in element.findall(f"{_M}e"))
        return f"{said('dPr/begChr', '(')}{inside}{said('dPr/endChr', ')')}"
    if name == "func":
        return f"{part('fName')} {part('e')}"
    if name in ("limLow", "limUpp"):
        return f"{part('e')}{'_' if name == 'limLow' else '^'}{_grouped(part('lim'))}"
    if name == "m":
        rows = (", ".join(linear(cell) for cell in row.findall(f"{_M}e")) for row in element.findall(f"{_M}mr"))
        return f"[{'; '.join(rows)}]"
    joint = "\n" if name in ("oMathPara", "eqArr") else ""
    whole, last = "", "r"
    for key, child in ((child.tag.removeprefix(_M), child) for child in element if isinstance(child.tag, str)):
        if key.endswith("Pr"):
            continue  # how it looks
        text = linear(child)
        names = whole[-1:].isalnum() and text[:1].isalnum() and (last != "r" or key == "func")
        whole += (joint if whole else "") + " " * names + text
        last = key
    return whole


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"
