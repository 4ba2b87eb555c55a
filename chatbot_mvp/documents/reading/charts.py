"""Read the values of a chart, and the texts of a diagram, of Office."""

from __future__ import annotations

from typing import Any

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"


def drawn(part: Any) -> tuple[list[str], list[list[str]]]:
    """Return (texts, rows of a table) of a drawing: of a diagram (SmartArt) the texts of its shapes and no rows; of a
    chart its title, and as rows the names of its series, then a category and its values each.
    """
    if part.tag != f"{_C}chartSpace":
        return list(filter(str.strip, map(_text, part.iter(f"{_D}pt")))), []
    series = [
        (" ".join(_points(one, "tx").values()), _points(one, "cat", "xVal"), _points(one, "val", "yVal"))
        for one in part.iter(f"{_C}ser")
    ]
    labels = {place: label for _, categories, _ in reversed(series) for place, label in categories.items()}
    places = sorted({place for _, _, values in series for place in values})[:5_000]
    rows = [["", *(name for name, _, _ in series)]]
    rows += [[labels.get(at, str(at + 1)), *(values.get(at, "") for _, _, values in series)] for at in places]
    return list(filter(str.strip, map(_text, part.findall(f"{_C}chart/{_C}title")))), rows


def _points(series: Any, *names: str) -> dict[int, str]:
    points = [point for name in names for found in series.findall(f"{_C}{name}") for point in found.iter(f"{_C}pt")]
    return {int(point.get("idx", "0")): (point.findtext(f"{_C}v") or "").removesuffix(".0") for point in points}


def _text(element: Any) -> str:
    return "".join(text.text or "" for text in element.iter(f"{_A}t"))
