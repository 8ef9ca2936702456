"""Publish sparse tables under pure differential privacy.

    rows -> table -> (structure) -> summary -> release -> answers

The rooms of this package follow that line; `docs/explanation/rooms.md` walks through them.
"""

from typing import TYPE_CHECKING, Any

from hushtable.errors import (
    BadMethod,
    BadNumber,
    BadSettings,
    BadTable,
    HushtableError,
    InternalError,
    TooManyCells,
    TooManyRows,
    UnsafeEntropy,
)

if TYPE_CHECKING:
    from hushtable.methods.settings import (
        Everything,
        Filter,
        FilterPriority,
        FilterThreshold,
        Priority,
        Threshold,
    )
    from hushtable.summaries.summarize import summarize
    from hushtable.summaries.summary import Summary
    from hushtable.table.sparse import SparseTable

__version__ = "0.1.0"

__all__ = [
    "BadMethod",
    "BadNumber",
    "BadSettings",
    "BadTable",
    "Everything",
    "Filter",
    "FilterPriority",
    "FilterThreshold",
    "HushtableError",
    "InternalError",
    "Priority",
    "SparseTable",
    "Summary",
    "Threshold",
    "TooManyCells",
    "TooManyRows",
    "UnsafeEntropy",
    "__version__",
    "summarize",
]

# Loaded on first use, so that `import hushtable` stays as quick as a look at the errors.
_HOMES = {
    "Everything": "hushtable.methods.settings",
    "Filter": "hushtable.methods.settings",
    "FilterPriority": "hushtable.methods.settings",
    "FilterThreshold": "hushtable.methods.settings",
    "Priority": "hushtable.methods.settings",
    "SparseTable": "hushtable.table.sparse",
    "Summary": "hushtable.summaries.summary",
    "Threshold": "hushtable.methods.settings",
    "summarize": "hushtable.summaries.summarize",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its room."""
    if name not in _HOMES:
        raise AttributeError(f"module 'hushtable' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
