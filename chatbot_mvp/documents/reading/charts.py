"""Read the values of a chart, and the texts of a diagram, of Office."""

from __future__ import annotations

from typing import Any

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_D = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"


def chart_rows(part: Any) -> tuple[str, list[list[str]]]:
    """Return (title or "", rows of a table: names of the series, then a category and its values a row)."""
    title = part.find(f"{_C}chart/{_C}title")
    series = [
        (" ".join(_points(one, "tx").values()), _points(one, "cat", "xVal"), _points(one, "val", "yVal"))
        for one in part.iter(f"{_C}ser")
    ]
    labels = {place: label for _, categories, _ in reversed(series) for place, label in categories.items()}
    places = sorted({place for _, _, values in series for place in values})[:5_000]
    rows = [["", *(name for name, _, _ in series)]]
    rows += [[labels.get(at, str(at + 1)), *(values.get(at, "") for _, _, values in series)] for at in places]
    return "".join(text.text or "" for text in title.iter(f"{_A}t")) if title is not None else "", rows


def _points(series: Any, *names: str) -> dict[int, str]:
    points = [point for name in names for found in series.findall(f"{_C}{name}") for point in found.iter(f"{_C}pt")]
    return {int(point.get("idx", "0")): (point.findtext(f"{_C}v") or "").removesuffix(".0") for point in points}


def diagram_texts(part: Any) -> list[str]:
    """Return the texts of a diagram's shapes (SmartArt)."""
    texts = ("".join(text.text or "" for text in point.iter(f"{_A}t")) for point in part.iter(f"{_D}pt"))
    return [text for text in texts if text.strip()]
