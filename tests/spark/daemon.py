"""The parent of all Python workers of an executor, which has drawn bits before it forks them."""

from __future__ import annotations

from pyspark.daemon import manager

from tests.spark import dying

if __name__ == "__main__":
    dying.SHARED.words(1)
    manager()
