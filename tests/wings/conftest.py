"""Tests of wings have the fixtures of tests of pages and of the browser."""

from tests.e2e.conftest import *  # noqa: F403
from tests.ui.conftest import *  # noqa: F403
