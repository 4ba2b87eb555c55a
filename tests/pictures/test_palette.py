"""The colours of the pictures: legible on both grounds, and told apart with each kind of colour blindness."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from streamlit_app.pictures.palette import Scheme, palette

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = np.array([0.9505, 1.0, 1.089])


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    lights = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    x, y, z = (_TO_XYZ @ np.clip(rgb, 0, 1)) / _WHITE
    f = [np.cbrt(part) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shapes_and_texts_stand_out_from_the_ground(scheme: Scheme) -> None:
    """At least 3:1 for shapes (WCAG 1.4.11), 4.5:1 for texts (1.4.3)."""
    colours = palette(scheme)
    for name in ("good", "lost", "other", "wrong"):
        assert contrast(getattr(colours, name), colours.ground) >= 3, name
    for name in ("ink", "quiet"):
        assert contrast(getattr(colours, name), colours.ground) >= 4.5, name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("blindness", _BLINDNESS)
def test_right_and_wrong_are_told_apart_whatever_one_sees(scheme: Scheme, blindness: str) -> None:
    """A difference of 10 (CIE 1976) is seen at a glance. All else has a name beside it, too."""
    colours = palette(scheme)
    seen = {
        name: lab(_BLINDNESS[blindness] @ linear(getattr(colours, name))) for name in ("good", "lost", "other", "wrong")
    }
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 10, (one, other)
