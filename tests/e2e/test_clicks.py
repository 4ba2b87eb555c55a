"""Three journeys of a newcomer with a document of their own take no more clicks than promised.

Saying where a question is answered takes one more for each question.
"""

from __future__ import annotations

import subprocess

import pytest

from benchmarks.script import command

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]


def test_each_journey_ends_with_its_sentence_within_its_clicks() -> None:
    """In a process of its own: a worker of the tests has a browser already, and a process can have one."""
    walked = subprocess.run(command("clicks"), capture_output=True, text=True)
    assert walked.returncode == 0, walked.stdout + walked.stderr
