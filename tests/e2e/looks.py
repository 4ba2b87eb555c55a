"""How a page looks, in a form that is the same on another machine: places and styles of its parts, and a small picture.

The fonts come with Streamlit, so that texts are as wide everywhere; what differs is how a machine smooths letters. In a
picture of 96 pixels across nothing of that is left, and nothing of dates and seconds either.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

FOLDER = Path(__file__).with_name("looks")
"""A file of styles for each view, and a picture for each view, width and theme."""
THEMES = ("light", "dark")
WIDTHS = {1440: 900, 1024: 768, 390: 844}
"""Width of the window -> its height, in CSS pixels."""
NEAR_PX = 6
"""A part may be so far from its place, or differ so much in size: less than any step of the design's grid but one."""
PICTURE_PX = 96
MEAN, PATCH = 0.6, 3.0
"""Largest mean difference of a picture and of its most different patch of 8 by 8 pixels, in 256 greys."""
_SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8").partition("\n")[2]
Parts = Mapping[str, Mapping[str, Any]]


def parts_of(page: Any) -> Parts:
    """Return name of a part -> its ``box`` and the values of its style.

    A box is left, top, width and height, in pixels, of what is in the window.

    Raises:
        AssertionError: the page does not stand still.
    """
    page.evaluate("document.fonts.ready")
    before: Parts = {}
    for _ in range(60):
        found: Parts = page.evaluate(_SCRIPT)
        if found == before and not page.locator("[data-testid='stSkeleton']").count():
            return found
        before = found
        page.wait_for_timeout(700)
    raise AssertionError("the page does not stand still")


def differences(before: Parts, now: Parts) -> list[str]:
    """Return one line for each part that is new, gone, elsewhere, of another size or of another style."""
    told = [f"{name} is {'new' if name in now else 'gone'}" for name in sorted(set(before) ^ set(now))]
    for name in sorted(set(before) & set(now)):
        was, is_now = before[name], now[name]
        for what in sorted(set(was) | set(is_now)):
            one, other = was.get(what), is_now.get(what)
            same = _near(one, other) if what == "box" else one == other
            if not same:
                told.append(f"{name}: {what} was {one}, is {other}")
    return told


def _near(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(before - now) <= NEAR_PX for before, now in zip(one, other, strict=True))


def picture_of(page: Any) -> Image.Image:
    """Return what the window shows in grey, 96 pixels across and blurred."""
    whole = Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("L")
    height = round(whole.height * PICTURE_PX / whole.width)
    small = whole.resize((PICTURE_PX, height), Image.Resampling.BOX)
    return small.filter(ImageFilter.GaussianBlur(1))


def apart(before: Image.Image, now: Image.Image) -> tuple[float, float]:
    """Return how far two pictures are apart: on average, and in the most different patch; in 256 greys."""
    if before.size != now.size:
        return 255.0, 255.0
    difference = np.abs(np.asarray(before, float) - np.asarray(now, float))
    height, width = (size // 8 * 8 for size in difference.shape)
    patches = difference[:height, :width].reshape(height // 8, 8, width // 8, 8).mean(axis=(1, 3))
    return float(difference.mean()), float(patches.max())


def keep(view: str, looks: Mapping[str, Parts]) -> None:
    """Write the styles of a view: width and theme -> its parts. Of the dark theme, what differs from the light one."""
    FOLDER.mkdir(exist_ok=True)
    lines = []
    for case, parts in looks.items():
        light = looks[_light(case)] if case != _light(case) else {}
        own = {
            name: {what: value for what, value in part.items() if light.get(name, {}).get(what) != value}
            for name, part in parts.items()
        }
        rows = [f"  {json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in own.items()]
        lines.append(f"{json.dumps(case)}: {{\n" + ",\n".join(rows) + "}")
    _styles_path(view).write_text("{\n" + ",\n".join(lines) + "}\n", "utf-8")


def kept(view: str) -> Mapping[str, Parts]:
    """Read what ``keep`` wrote; empty if there is nothing."""
    path = _styles_path(view)
    if not path.exists():
        return {}
    looks: Mapping[str, Parts] = json.loads(path.read_text("utf-8"))
    return {
        case: {name: {**looks[_light(case)].get(name, {}), **part} for name, part in parts.items()}
        for case, parts in looks.items()
    }


def _light(case: str) -> str:
    return case.replace("dark", "light")


def _styles_path(view: str) -> Path:
    return FOLDER / f"{view}.json"


def picture_path(view: str, width: int, theme: str) -> Path:
    return FOLDER / f"{view}-{width}-{theme}.png"
