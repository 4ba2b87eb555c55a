"""Types of values in files: each has a limit far above all that this program writes, so that no value breaks a page."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=0, le=10**12)]
"""A number of things. Larger numbers do not fit into tables."""
Amount = Annotated[float, Field(ge=0, le=1e12)]
"""Seconds, megabytes or dollars."""
Figure = Annotated[float, Field(ge=-1e9, le=1e9)]
"""A score, or the difference of two."""
Name = Annotated[str, Field(max_length=2_000)]
"""A text for a line of a list: an id, a name, a time."""
Text = Annotated[str, Field(max_length=1_000_000)]
"""A question, an answer, or the words of a model or a provider."""
