"""Publish sparse tables under pure differential privacy.

    rows -> table -> (structure) -> summary -> release -> answers

The rooms of this package follow that line; `docs/explanation/rooms.md` walks through them.
"""

from hushtable.errors import BadNumber, HushtableError, InternalError, UnsafeEntropy

__version__ = "0.1.0"

__all__ = ["BadNumber", "HushtableError", "InternalError", "UnsafeEntropy", "__version__"]
