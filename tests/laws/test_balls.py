"""Certified numbers: what is returned is certain, at any precision and in any thread."""

from __future__ import annotations

import subprocess
import sys
import threading
from fractions import Fraction
from math import floor

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import InternalError
from hushtable.laws.balls import (
    Real,
    nearest_float,
    rational_ball,
    rational_real,
    scaled_bounds,
    scaled_floors,
    working_precision,
)

rationals = st.fractions(min_value=-(10**6), max_value=10**6)


@given(rationals, st.integers(2, 300), st.integers(0, 200))
def test_bounds_hold_at_every_precision(value: Fraction, precision: int, bits: int) -> None:
    low, high = scaled_bounds(rational_real(value), precision=precision, bits=bits)

    assert low <= value * (1 << bits) <= high


@given(st.fractions(min_value=0, max_value=1).filter(lambda x: x.denominator & (x.denominator - 1) != 0))
def test_floors_are_exact_from_any_starting_precision(value: Fraction) -> None:
    assert scaled_floors([rational_real(value)], precision=4, bits=64) == [floor(value * (1 << 64))]


def test_a_floor_that_is_never_certain_is_an_error_and_not_a_loop() -> None:
    def third_of_three(precision: int) -> flint.arb:
        return rational_ball(Fraction(1, 3)) * 3

    with pytest.raises(InternalError, match="bits of precision"):
        scaled_floors([third_of_three], precision=64, bits=0)


def test_bounds_wait_for_a_finite_ball() -> None:
    def coarse_at_first(precision: int) -> flint.arb:
        return (rational_ball(Fraction(1, 3)) * 3 - 1 + rational_ball(Fraction(1, 1 << 100))).log()

    low, high = scaled_bounds(coarse_at_first, precision=16, bits=0)

    assert low <= -69.3 <= high


@given(st.fractions(min_value=Fraction(1, 10**300), max_value=10**300))
def test_nearest_float_is_nearest_or_next(value: Fraction) -> None:
    assert abs(Fraction(nearest_float(rational_real(value))) - value) <= value / (1 << 52)


def test_nearest_float_of_a_zero_that_is_never_certain() -> None:
    assert nearest_float(lambda precision: rational_ball(Fraction(1, 3)) * 3 - 1) == 0.0


def test_the_callers_precision_is_put_back() -> None:
    before = flint.ctx.prec
    with working_precision(999):
        assert flint.ctx.prec == 999
    assert flint.ctx.prec == before
    with pytest.raises(ZeroDivisionError), working_precision(999):
        1 / 0  # noqa: B018

    assert flint.ctx.prec == before


def test_threads_do_not_mix_their_precisions() -> None:
    wrong: list[int] = []

    def work(precision: int) -> None:
        for _ in range(300):
            with working_precision(precision):
                ball = rational_ball(Fraction(1, 3))
                if flint.ctx.prec != precision or ball.rel_accuracy_bits() < precision - 4:
                    wrong.append(precision)

    threads = [threading.Thread(target=work, args=(precision,)) for precision in (53, 200, 1000, 4000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


def test_one_thread_at_a_time_sets_the_precision() -> None:
    inside, leave, done = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with working_precision(100):
            inside.set()
            leave.wait(10)

    def follow() -> None:
        with working_precision(200):
            done.set()

    threads = [threading.Thread(target=hold), threading.Thread(target=follow)]
    threads[0].start()
    assert inside.wait(10)
    threads[1].start()
    assert not done.wait(0.2), "the second thread must wait for the first"
    leave.set()
    assert done.wait(10)
    for thread in threads:
        thread.join()


def test_a_child_forked_while_a_thread_computes_does_not_wait_for_it() -> None:
    # In a process of its own: a fork beside threads is what Python warns of, and what this is about.
    code = """
import os, signal, threading
from fractions import Fraction
from hushtable.laws.balls import rational_ball, working_precision
inside, leave = threading.Event(), threading.Event()
def hold():
    with working_precision(100):
        inside.set()
        leave.wait(20)
thread = threading.Thread(target=hold)
thread.start()
inside.wait(10)
child = os.fork()
if child == 0:
    signal.alarm(5)  # ends a child that waits for ever
    with working_precision(64):
        rational_ball(Fraction(1, 3))
    os._exit(0)
status = os.waitpid(child, 0)[1]
leave.set()
thread.join()
print(os.waitstatus_to_exitcode(status))
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert ran.stdout.strip() == "0"


def test_nearest_float_waits_for_all_digits() -> None:
    # 60 leading bits cancel, so that the first precision leaves fewer bits than a float has.
    large = 1 << 60

    assert nearest_float(lambda precision: rational_ball(Fraction(1, 3)) + large - large) == 1 / 3


def test_a_real_is_a_function() -> None:
    third: Real = rational_real(Fraction(1, 3))

    assert third(64).overlaps(third(640))
