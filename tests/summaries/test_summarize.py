"""The public call: every method at its edges, one clear error for bad input, and the traps of the design."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hushtable as ht
from hushtable.laws.acceptance import Acceptance
from hushtable.laws.geometric import Geometric
from hushtable.laws.law import NoiseLaw
from hushtable.methods.settings import Method
from hushtable.noise import BitSource, KeyStream, cell_noise
from hushtable.summaries import candidates
from hushtable.summaries.summarize import draw_summary
from tests.harness.statistics import replay, tries

METHODS: list[Method] = [
    ht.Everything(),
    ht.Everything(nonnegative=True),
    ht.Filter(cutoff=3),
    ht.Filter(cutoff="2.5", two_sided=False),
    ht.Filter(size=7),
    ht.Filter(size=7, two_sided=False),
    ht.Threshold(threshold="5.5"),
    ht.Threshold(size=7),
    ht.Threshold(size=7, two_sided=False),
    ht.Priority(size=7),
    ht.Priority(size=7, two_sided=False),
    ht.FilterThreshold(cutoff=2, threshold=9),
    ht.FilterThreshold(cutoff=9, threshold="1.5"),
    ht.FilterThreshold(cutoff=2, size=7),
    ht.FilterPriority(cutoff=2, size=7),
    ht.FilterPriority(cutoff="2.5", size=7, two_sided=False),
]


def check(summary: ht.Summary) -> None:
    """Whatever the method: rows in order, inside the shape, with the weights that the threshold says."""
    codes, counts = summary.codes, summary.counts
    assert codes.dtype == counts.dtype == np.int64
    assert summary.weights.dtype == np.float64
    assert codes.shape == (len(counts), len(summary.shape))
    assert (codes >= 0).all()
    assert (codes < np.array(summary.shape)).all()
    rows = [tuple(code) for code in codes.tolist()]
    assert rows == sorted(set(rows))
    expected = np.sign(counts) * np.maximum(np.abs(counts), summary.threshold or 0)
    assert np.array_equal(summary.weights, expected)
    method = summary.method
    if not isinstance(method, ht.Everything):
        assert (counts > 0).all() if not method.two_sided else (counts != 0).all()
        assert summary.cutoff is None or (np.abs(counts) >= summary.cutoff).all()
        if isinstance(method, ht.Filter | ht.Priority | ht.FilterPriority) and method.size is not None:
            assert len(summary) <= method.size


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("epsilon", ["1/10000", "0.1", 3, 50])
@pytest.mark.parametrize(
    ("shape", "codes", "counts"),
    [
        ((1,), [[0]], [5]),
        ((1,), [], []),
        ((6,), [[i] for i in range(6)], [1, 1, 2, 3, 10**12, 4]),
        ((4, 5), [[0, 0], [3, 4]], [1, 10**12]),
        ((4, 5), [], []),
        ((3, 2**12), [[1, 5]], [4]),
    ],
    ids=["m=n=1", "m=1,n=0", "n=m", "m=20", "n=0", "m=3*2^12"],
)
def test_every_method_at_its_edges(
    method: Method, epsilon: str | int, shape: tuple[int, ...], codes: list[list[int]], counts: list[int]
) -> None:
    table = ht.SparseTable(
        shape=shape, codes=np.array(codes, dtype=int).reshape(-1, len(shape)), counts=counts
    )

    check(ht.summarize(table, method, epsilon=epsilon))


@pytest.mark.parametrize("size", [1, 19, 20, 21, 1000])
@pytest.mark.parametrize("make", [ht.Priority, ht.Filter])
def test_a_size_beyond_the_domain_publishes_every_cell_that_is_not_0(
    size: int, make: type[ht.Priority]
) -> None:
    table = ht.SparseTable(shape=(20,), codes=[3, 5], counts=[9, 9])
    for _ in range(5):
        summary = ht.summarize(table, make(size=size), epsilon="0.01")
        check(summary)
        assert len(summary) <= min(size, 20)
        if size >= 20 and make is ht.Priority:
            assert summary.threshold == 0
            assert np.array_equal(summary.weights, summary.counts)


@pytest.mark.parametrize("shape", [[10**6] * 5, [10] * 30, [2**63 - 1] * 3, [2] * 200])
@pytest.mark.parametrize(
    "method", [ht.Filter(size=50), ht.FilterPriority(cutoff=900, size=50), ht.Priority(size=50)], ids=repr
)
def test_domains_beyond_64_bits(shape: list[int], method: Method) -> None:
    generator = np.random.default_rng(1)
    codes = np.stack([generator.integers(0, size, 200) for size in shape], axis=1)
    table = ht.SparseTable(shape=shape, codes=codes, counts=np.full(200, 10**12))
    summary = ht.summarize(table, method, epsilon=1)

    check(summary)
    assert len(summary) == 50
    if not isinstance(method, ht.Priority):  # without a cutoff, the noise of 10^30 cells outweighs any data
        assert {tuple(c) for c in summary.codes.tolist()} <= {tuple(c) for c in codes.tolist()}


@settings(max_examples=tries(40))
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.sampled_from(METHODS),
    st.integers(1, 8),
    st.integers(0, 2**32),
    st.data(),
)
def test_any_table_any_slices(
    shape: list[int], method: Method, slices: int, seed: int, data: st.DataObject
) -> None:
    cells = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in shape)), max_size=30))
    codes = np.array(cells, dtype=np.int64).reshape(len(cells), len(shape))
    table = ht.SparseTable(shape=shape, codes=codes, counts=np.ones(len(cells), dtype=np.int64))

    check(
        draw_summary(
            table,
            method,
            epsilon=Fraction(1, 2),
            sensitivity=Fraction(1),
            entropy=replay(seed),
            slices=slices,
        )
    )


def test_threads_and_slices_work_together() -> None:
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 10**6, (200_000, 2))
    table = ht.SparseTable(shape=(10**6, 10**6), codes=codes, counts=np.full(200_000, 50))
    workers: set[int] = set()
    entropy = KeyStream()

    class Watched:
        secure = True

        def words(self, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
            workers.add(threading.get_ident())
            return entropy.words(count)

    summary = draw_summary(
        table,
        ht.Priority(size=20_000),
        epsilon=Fraction(1),
        sensitivity=Fraction(1),
        entropy=Watched(),
        threads=3,
        slices=12,
    )

    check(summary)
    assert len(summary) == 20_000
    assert len(workers) > 1


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "message"),
    [
        (0, 1, "epsilon=0 is not above 0"),
        (-1, 1, "epsilon=-1 is not above 0"),
        (float("nan"), 1, "epsilon=nan is not a finite number"),
        ("much", 1, "epsilon='much' is not a finite number"),
        (1, 0, "sensitivity=0 is not above 0"),
        (1, float("inf"), "sensitivity=inf is not a finite number"),
        (1, 2**50, "noise outgrows 64-bit counts"),
    ],
)
def test_bad_privacy_settings_are_one_clear_error(epsilon: float, sensitivity: float, message: str) -> None:
    table = ht.SparseTable(shape=(5,), codes=[1], counts=[1])
    with pytest.raises(ht.BadNumber, match=message):
        ht.summarize(table, ht.Filter(cutoff=1), epsilon=epsilon, sensitivity=sensitivity)


@pytest.mark.parametrize("method", ["priority", None, ht.Priority, 5])
def test_what_is_no_method_is_one_clear_error(method: object) -> None:
    table = ht.SparseTable(shape=(5,), codes=[1], counts=[1])
    with pytest.raises(
        ht.BadMethod, match=r"method is a .*, not a summary method\. Pass something like ht\.Priority"
    ):
        ht.summarize(table, method, epsilon=1)  # type: ignore[arg-type]


def test_what_is_no_table_is_one_clear_error() -> None:
    with pytest.raises(ht.BadMethod, match="table is a dict, not a SparseTable"):
        ht.summarize({3: 5}, ht.Priority(size=5), epsilon=1)  # type: ignore[arg-type]


def test_epsilon_is_exact_however_it_is_written() -> None:
    table = ht.SparseTable(shape=(5,), codes=[1], counts=[1])
    for epsilon in ("0.1", 0.1, np.float32(0.1), Fraction(1, 10), "1/10"):
        assert ht.summarize(table, ht.Filter(cutoff=1), epsilon=epsilon).epsilon == Fraction(1, 10)  # type: ignore[arg-type]


def test_signed_values_need_a_sensitivity() -> None:
    table = ht.SparseTable(shape=(5,), codes=[1, 2], counts=[-40, 3])
    with pytest.raises(ht.BadTable, match="counts below 0 need a sensitivity of their own") as caught:
        ht.summarize(table, ht.Filter(cutoff=20), epsilon=1)
    assert "40" not in str(caught.value)
    summary = ht.summarize(table, ht.Filter(cutoff=20), epsilon=5, sensitivity=2)

    assert summary.codes.tolist() == [[1]]
    assert summary.counts[0] < 0
    assert summary.weights[0] == summary.counts[0]


def test_everything_is_refused_for_large_domains() -> None:
    table = ht.SparseTable(shape=(10**6, 10**6), codes=[[1, 1]], counts=[1])
    with pytest.raises(ht.TooManyCells, match=r"all 1000000000000 cells; at most 100000000 are allowed"):
        ht.summarize(table, ht.Everything(), epsilon=1)


@pytest.mark.parametrize("method", [ht.Filter(cutoff=3), ht.Threshold(threshold=100)])
def test_too_many_rows_are_refused_by_public_numbers_alone(method: Method) -> None:
    messages = set()
    for codes in ([], [[1, 1]], [[5, 5], [6, 6]]):
        table = ht.SparseTable(
            shape=(10**9, 10**9), codes=np.array(codes, dtype=int).reshape(-1, 2), counts=[9] * len(codes)
        )
        with pytest.raises(ht.TooManyRows, match="Raise the cutoff or the threshold") as caught:
            ht.summarize(table, method, epsilon=1)
        messages.add(str(caught.value))

    assert len(messages) == 1


# Traps of the design, section 7, that this layer could fall into.


def test_trap_1_nothing_is_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    # A guess far too high is extended by bands. Each occupied cell must get noise once, all the same.
    calls: list[int] = []

    def watched(law: NoiseLaw, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
        calls.append(count)
        return cell_noise(law, entropy, count=count)

    monkeypatch.setattr(candidates, "cell_noise", watched)
    table = ht.SparseTable(shape=(1000,), codes=[1, 2, 3], counts=[1, 2, 3])
    draw_summary(
        table,
        ht.Priority(size=40),
        epsilon=Fraction(1, 3),
        sensitivity=Fraction(1),
        entropy=replay(900),
        first_guess=Acceptance(threshold=10**9),
    )

    assert calls == [3]


def test_trap_2_public_parameters_do_not_follow_the_table() -> None:
    # A threshold from a size depends on the number of cells, not on how many are occupied.
    thresholds = {
        ht.summarize(
            ht.SparseTable(shape=(1000,), codes=list(range(n)), counts=[5] * n),
            ht.Threshold(size=10),
            epsilon=1,
        ).threshold
        for n in (0, 1, 500, 1000)
    }

    assert len(thresholds) == 1


def test_trap_3_rows_are_in_the_order_of_their_codes() -> None:
    table = ht.SparseTable(shape=(50, 50), codes=[[40, 3], [2, 2], [30, 1]], counts=[500, 500, 500])
    for method in METHODS:
        check(ht.summarize(table, method, epsilon=1))


def test_trap_3_types_and_layout_do_not_follow_the_table() -> None:
    def layout(summary: ht.Summary) -> list[object]:
        arrays = (summary.codes, summary.counts, summary.weights)
        return [(a.dtype, a.ndim, a.flags["F_CONTIGUOUS"], a.flags["OWNDATA"]) for a in arrays]

    tables = [
        ht.SparseTable(shape=(40, 40), codes=np.empty((0, 2), int), counts=[]),
        ht.SparseTable(shape=(40, 40), codes=np.argwhere(np.ones((40, 40))), counts=np.full(1600, 7)),
        ht.SparseTable(shape=(40, 40), codes=[[1, 2]], counts=[10**12]),
    ]
    for method in METHODS:
        layouts = [layout(ht.summarize(table, method, epsilon=1)) for table in tables]
        assert layouts[0] == layouts[1] == layouts[2]


def test_trap_9_a_summary_carries_nothing_private() -> None:
    public = {
        "shape",
        "method",
        "epsilon",
        "sensitivity",
        "codes",
        "counts",
        "weights",
        "threshold",
        "cutoff",
        "nodes",
        "law_name",
    }
    assert set(ht.Summary.__slots__) == public
    table = ht.SparseTable(shape=(10**6,), codes=[5], counts=[918_273_645])
    text = repr(ht.summarize(table, ht.Priority(size=3), epsilon=1))

    assert "918273645" not in text
    assert "counts" not in text


def test_trap_11_the_public_call_takes_no_bits() -> None:
    public = ["table", "method", "epsilon", "rho", "delta", "sensitivity", "structure", "law"]
    assert list(inspect.signature(ht.summarize).parameters) == public


def test_trap_13_sums_and_saturation_never_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 1 << 60
    for noise in (2**63 - 1, -(2**63) + 1, 2**62, 0):
        monkeypatch.setattr(
            candidates,
            "cell_noise",
            lambda law, entropy, *, count, noise=noise: np.full(count, noise),
        )
        values = candidates.noisy(np.array([most, -most, 5]), Geometric(Fraction(1)), replay(901))
        exact = [min(max(count + noise, -(1 << 61)), 1 << 61) for count in (most, -most, 5)]
        assert values.tolist() == exact


@pytest.mark.parametrize("method", METHODS[2:], ids=repr)
def test_thinning_is_a_subset(method: Method) -> None:
    table = ht.SparseTable(shape=(500,), codes=list(range(0, 500, 3)), counts=[40] * 167)
    summary = ht.summarize(table, method, epsilon="0.2")
    cutoff, threshold = 10 + (summary.cutoff or 0), 60 + (summary.threshold or 0)
    for thinned in (summary.thin(size=3), summary.thin(cutoff=cutoff), summary.thin(threshold=threshold)):
        check(thinned)
        assert {tuple(c) for c in thinned.codes.tolist()} <= {tuple(c) for c in summary.codes.tolist()}
    assert len(summary.thin(size=3)) == min(3, len(summary))
    assert summary.thin(size=10**6) is summary
    assert summary.thin(threshold=threshold).threshold == threshold
    assert summary.thin(cutoff=cutoff).cutoff == cutoff


@pytest.mark.parametrize(
    ("thinning", "message"),
    [
        ({}, "thin takes exactly one of"),
        ({"size": 1, "cutoff": 1}, "thin takes exactly one of"),
        ({"size": -1}, "size=-1 is below 0"),
        ({"cutoff": 2}, "cutoff=2 is below the summary's own 5"),
        ({"threshold": 8}, "threshold=8 is below the summary's own 9"),
        ({"threshold": "x"}, "threshold='x' is not a finite number"),
    ],
)
def test_bad_thinning_is_one_clear_error(thinning: dict[str, object], message: str) -> None:
    table = ht.SparseTable(shape=(50,), codes=[1], counts=[100])
    summary = ht.summarize(table, ht.FilterThreshold(cutoff=5, threshold=9), epsilon=1)
    with pytest.raises(ht.HushtableError, match=message):
        summary.thin(**thinning)  # type: ignore[arg-type]


COLD = """
import sys
import hushtable as ht
table = ht.SparseTable(shape=(50, 50), codes=[[1, 2]], counts=[100])
ht.summarize(table, ht.Priority(size=10), epsilon=1)
print(*(name for name in sys.modules if name.split(".")[0] in ("hushtable", "pyarrow", "duckdb")))
"""


def test_a_summary_of_cells_waits_for_no_structures_and_no_files() -> None:
    ran = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, check=True)
    loaded = ran.stdout.split()

    assert "hushtable.summaries.flat" in loaded
    assert not [name for name in loaded if name.startswith(("pyarrow", "duckdb"))]
    rooms = [name for name in loaded if name.startswith(("hushtable.structures", "hushtable.release"))]
    assert set(rooms) <= {"hushtable.release", "hushtable.release.version"}
