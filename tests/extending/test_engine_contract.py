"""The worked example of an engine from outside keeps the whole contract of engines."""

import pytest

from tests.engines.contract import *  # noqa: F403
from tests.extending.test_engine import engine, registered  # noqa: F401

pytestmark = pytest.mark.long
