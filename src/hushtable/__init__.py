"""Publish sparse tables under pure differential privacy.

    rows -> table -> (structure) -> summary -> release -> answers

The rooms of this package follow that line; `docs/explanation/rooms.md` walks through them.
"""

from typing import TYPE_CHECKING, Any

from hushtable.errors import (
    BadChoice,
    BadData,
    BadDomain,
    BadLedger,
    BadMethod,
    BadNumber,
    BadOutput,
    BadPlan,
    BadQuery,
    BadRecipe,
    BadRelease,
    BadRows,
    BadSettings,
    BadTable,
    BudgetExceeded,
    HushtableError,
    InternalError,
    LowMemory,
    MissingBrowser,
    MissingJava,
    MissingPackage,
    OutputExists,
    Stopped,
    TooManyCells,
    TooManyRows,
    UnreviewedDomain,
    UnsafeEntropy,
    WastedRelease,
)
from hushtable.release.version import VERSION as __version__

if TYPE_CHECKING:
    from hushtable.answers.estimation.estimate import Estimate
    from hushtable.answers.release import Release, open
    from hushtable.conditions.conditions import between
    from hushtable.domain.declaring import any_text, bins, categories, integers, times
    from hushtable.domain.domain import Domain
    from hushtable.domain.measure import Unit
    from hushtable.engines.counting import count
    from hushtable.engines.local.checking import check
    from hushtable.engines.local.drafting import draft
    from hushtable.laws.costs import Cost
    from hushtable.ledger.ledger import Ledger
    from hushtable.methods.settings import (
        Everything,
        Filter,
        FilterPriority,
        FilterThreshold,
        Priority,
        Threshold,
    )
    from hushtable.planning.comparing import LawComparison, compare_laws
    from hushtable.planning.hierarchies import HierarchyPlan
    from hushtable.planning.plan import Plan, plan
    from hushtable.planning.profile import Profile
    from hushtable.planning.questions import QuestionPlan
    from hushtable.publishing.publish import publish
    from hushtable.publishing.recipe import Recipe
    from hushtable.structures.dyadic import Dyadic
    from hushtable.structures.haar import Haar
    from hushtable.structures.hierarchy import Hierarchy
    from hushtable.structures.marginals import Marginals
    from hushtable.structures.product_dyadic import ProductDyadic
    from hushtable.structures.pruned import Tree
    from hushtable.structures.sketch import CountSketch
    from hushtable.structures.tables import Tables
    from hushtable.summaries.summarize import summarize
    from hushtable.summaries.summary import Summary
    from hushtable.table.sparse import SparseTable


__all__ = [
    "BadChoice",
    "BadData",
    "BadDomain",
    "BadLedger",
    "BadMethod",
    "BadNumber",
    "BadOutput",
    "BadPlan",
    "BadQuery",
    "BadRecipe",
    "BadRelease",
    "BadRows",
    "BadSettings",
    "BadTable",
    "BudgetExceeded",
    "Cost",
    "CountSketch",
    "Domain",
    "Dyadic",
    "Estimate",
    "Everything",
    "Filter",
    "FilterPriority",
    "FilterThreshold",
    "Haar",
    "Hierarchy",
    "HierarchyPlan",
    "HushtableError",
    "InternalError",
    "LawComparison",
    "Ledger",
    "LowMemory",
    "Marginals",
    "MissingBrowser",
    "MissingJava",
    "MissingPackage",
    "OutputExists",
    "Plan",
    "Priority",
    "ProductDyadic",
    "Profile",
    "QuestionPlan",
    "Recipe",
    "Release",
    "SparseTable",
    "Stopped",
    "Summary",
    "Tables",
    "Threshold",
    "TooManyCells",
    "TooManyRows",
    "Tree",
    "Unit",
    "UnreviewedDomain",
    "UnsafeEntropy",
    "WastedRelease",
    "__version__",
    "any_text",
    "between",
    "bins",
    "categories",
    "check",
    "compare_laws",
    "count",
    "draft",
    "integers",
    "open",
    "plan",
    "publish",
    "summarize",
    "times",
]

# Loaded on first use, so that `import hushtable` stays as quick as a look at the errors.
_HOMES = {
    "Cost": "hushtable.laws.costs",
    "CountSketch": "hushtable.structures.sketch",
    "Domain": "hushtable.domain.domain",
    "Dyadic": "hushtable.structures.dyadic",
    "Estimate": "hushtable.answers.estimation.estimate",
    "Everything": "hushtable.methods.settings",
    "Filter": "hushtable.methods.settings",
    "FilterPriority": "hushtable.methods.settings",
    "FilterThreshold": "hushtable.methods.settings",
    "Haar": "hushtable.structures.haar",
    "Hierarchy": "hushtable.structures.hierarchy",
    "HierarchyPlan": "hushtable.planning.hierarchies",
    "LawComparison": "hushtable.planning.comparing",
    "Ledger": "hushtable.ledger.ledger",
    "Marginals": "hushtable.structures.marginals",
    "QuestionPlan": "hushtable.planning.questions",
    "Tables": "hushtable.structures.tables",
    "Plan": "hushtable.planning.plan",
    "Priority": "hushtable.methods.settings",
    "ProductDyadic": "hushtable.structures.product_dyadic",
    "Profile": "hushtable.planning.profile",
    "Recipe": "hushtable.publishing.recipe",
    "Release": "hushtable.answers.release",
    "SparseTable": "hushtable.table.sparse",
    "Summary": "hushtable.summaries.summary",
    "Threshold": "hushtable.methods.settings",
    "Tree": "hushtable.structures.pruned",
    "Unit": "hushtable.domain.measure",
    "any_text": "hushtable.domain.declaring",
    "between": "hushtable.conditions.conditions",
    "bins": "hushtable.domain.declaring",
    "categories": "hushtable.domain.declaring",
    "check": "hushtable.engines.local.checking",
    "compare_laws": "hushtable.planning.comparing",
    "count": "hushtable.engines.counting",
    "draft": "hushtable.engines.local.drafting",
    "integers": "hushtable.domain.declaring",
    "plan": "hushtable.planning.plan",
    "publish": "hushtable.publishing.publish",
    "open": "hushtable.answers.release",
    "summarize": "hushtable.summaries.summarize",
    "times": "hushtable.domain.declaring",
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
