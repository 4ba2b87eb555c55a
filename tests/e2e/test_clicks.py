"""Three journeys of a newcomer with a document of their own take no more clicks than promised.

Saying where a question is answered takes one more for each question.
"""

from __future__ import annotations

import pytest

from benchmarks.clicks import GOALS, QUESTIONS, walk_all

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("e2e")]


def test_each_journey_ends_with_its_sentence_within_its_clicks() -> None:
    for walked in walk_all():
        assert walked.clicks <= GOALS[walked.name], walked
        assert walked.picks <= len(QUESTIONS), walked
        assert walked.sentence
