"""What every engine promises: the same tests for all, each of which takes the fixture `engine`.

`tests/engines/test_contract.py` runs them on one machine, `tests/spark/test_contract.py` on Spark.
"""

from tests.engines.contracts.counting import *  # noqa: F403
from tests.engines.contracts.flow import *  # noqa: F403
from tests.engines.contracts.laws import *  # noqa: F403
from tests.engines.contracts.people import *  # noqa: F403
from tests.engines.contracts.refusals import *  # noqa: F403
from tests.engines.contracts.units import *  # noqa: F403
