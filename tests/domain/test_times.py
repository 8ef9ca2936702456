"""Times: calendar steps, wall clocks, and the nights when clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.domain.attributes import Fate, Times
from tests.domain import examples

HOUR, DAY = 3600, 86_400


def hours(zone: str, day: date) -> Times:
    """The 24 hours of a day on the wall."""
    start = datetime(day.year, day.month, day.day)
    return Times(start=start, stop=start + timedelta(days=1), every=HOUR, unit="second", timezone=zone)


def hours_of_instants(zone: str, day: date) -> list[int | Fate]:
    """The codes of all instants of that day, one at each half hour, in their order."""
    start = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone))
    stop = start + timedelta(days=1)  # on the wall: 23 or 25 hours later
    instant, found = start.astimezone(UTC), []
    while instant < stop.astimezone(UTC):
        found.append(hours(zone, day).code_of(instant))
        instant += timedelta(minutes=30)
    return found


@pytest.mark.parametrize(
    ("zone", "day", "jump"),
    [("Europe/Berlin", date(2024, 3, 31), 2), ("America/New_York", date(2024, 3, 10), 2)],
)
def test_the_night_in_spring_lacks_an_hour(zone: str, day: date, jump: int) -> None:
    wanted = [hour for hour in range(24) for _ in range(2) if hour != jump]

    assert hours_of_instants(zone, day) == wanted
    # A column without a zone is on the wall already: the hour that never was can be read.
    assert hours(zone, day).code_of(datetime(day.year, day.month, day.day, jump, 30)) == jump


@pytest.mark.parametrize(
    ("zone", "day", "twice"),
    [("Europe/Berlin", date(2024, 10, 27), 2), ("America/New_York", date(2024, 11, 3), 1)],
)
def test_the_night_in_autumn_has_an_hour_twice(zone: str, day: date, twice: int) -> None:
    wanted = [hour for hour in range(24) for _ in range(4 if hour == twice else 2)]

    assert hours_of_instants(zone, day) == wanted
    assert hours(zone, day).code_of(datetime(day.year, day.month, day.day, twice, 30, fold=1)) == twice


@pytest.mark.parametrize("zone", examples.ZONES)
def test_a_day_is_a_calendar_day(zone: str) -> None:
    days = Times(
        start=datetime(2024, 1, 1), stop=datetime(2025, 1, 1), every=DAY, unit="second", timezone=zone
    )
    for code in range(days.size):
        day = datetime(2024, 1, 1) + timedelta(days=code)
        for hour in (0, 12, 23):
            assert days.code_of(day.replace(hour=hour, minute=59, tzinfo=ZoneInfo(zone))) == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2024-02-29", 59),
        ("2024-02-30", Fate.UNREADABLE),
        ("2023-02-29", Fate.UNREADABLE),
        ("2024-02-29T12:30", 59),
        ("2024-02-29 12:30:59", 59),
        ("2024-02-29 12:30:59.9", 59),
        ("2024-02-29 12:30:59.999999", 59),
        ("2024-02-29 12:30:59.9999999", Fate.UNREADABLE),
        ("2024-02-29 23:00Z", 60),
        ("2024-02-29 22:59:59.999999Z", 59),
        ("2024-02-29T23:00:00+00", 60),
        ("2024-02-29T23:00:00+0100", 59),
        ("2024-02-29T23:00:00-01:30", 60),
        ("2024-02-29T23:00:00+24:00", Fate.UNREADABLE),
        ("2024-02-29T23:00:00+01:60", Fate.UNREADABLE),
        ("2024-02-29T23:00:00z", Fate.UNREADABLE),
        ("2024-02-29Z", Fate.UNREADABLE),
        ("2024-02-29 24:00", Fate.UNREADABLE),
        ("2024-02-29 23:60", Fate.UNREADABLE),
        ("2024-02-29 23:59:60", Fate.UNREADABLE),
        ("2024-02-29 23", Fate.UNREADABLE),
        (" 2024-02-29", Fate.UNREADABLE),
        ("2024-02-29\n", Fate.UNREADABLE),
        ("2024-2-29", Fate.UNREADABLE),
        ("20240229", Fate.UNREADABLE),
        ("29.02.2024", Fate.UNREADABLE),
        ("0000-01-01", Fate.UNREADABLE),
        ("٢٠٢٤-02-29", Fate.UNREADABLE),
        ("", Fate.UNREADABLE),
        (1709164800, Fate.UNREADABLE),
        (date(2024, 12, 31), 365),
        (date(2025, 1, 1), Fate.OUTSIDE_HIGH),
        (date(2023, 12, 31), Fate.OUTSIDE_LOW),
        (datetime(2023, 12, 31, 23, 59, 59, 999999), Fate.OUTSIDE_LOW),
        (datetime(2024, 12, 31, 23, 59, 59, 999999), 365),
        (datetime(2024, 12, 31, 23, tzinfo=UTC), Fate.OUTSIDE_HIGH),
        (datetime(2023, 12, 31, 23, tzinfo=UTC), 0),
        ("0001-01-01 00:00+12", Fate.OUTSIDE_LOW),
        ("9999-12-31 23:59-12", Fate.OUTSIDE_HIGH),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=23))), Fate.OUTSIDE_LOW),
    ],
)
def test_times_read(value: object, code: object) -> None:
    days = Times(
        start=datetime(2024, 1, 1),
        stop=datetime(2025, 1, 1),
        every=DAY,
        unit="second",
        timezone="Europe/Berlin",
    )

    assert days.code_of(value) == code


def test_a_zone_without_an_offset_is_no_zone() -> None:
    class Nowhere(tzinfo):
        def utcoffset(self, _: datetime | None) -> None:
            return None

        dst = utcoffset

        def tzname(self, _: datetime | None) -> None:
            return None

    day = hours("Europe/Berlin", date(2024, 7, 1))

    assert day.code_of(datetime(2024, 7, 1, 5, tzinfo=Nowhere())) == 5


def test_months_are_those_of_the_calendar() -> None:
    months = Times(start=datetime(2023, 11, 1), stop=datetime(2024, 5, 1), every=1, unit="month")

    assert months.size == 6
    assert months.decode(np.arange(6)).to_pylist() == [
        date(2023, 11, 1),
        date(2023, 12, 1),
        date(2024, 1, 1),
        date(2024, 2, 1),
        date(2024, 3, 1),
        date(2024, 4, 1),
    ]
    assert months.code_of("2024-02-29 23:59:59.999999") == 3
    assert months.code_of("2024-03-01") == 4
    assert months.code_of("2024-05-01") is Fate.OUTSIDE_HIGH


def test_years_and_quarters_are_months() -> None:
    quarters = Times(start=datetime(2000, 2, 1), stop=datetime(2002, 2, 1), every=3, unit="month")

    assert quarters.size == 8
    assert quarters.code_of("2000-04-30") == 0
    assert quarters.code_of("2000-05-01") == 1
    assert quarters.code_of("2001-01-31") == 3


def test_columns_before_1970_and_after_2262() -> None:
    long = Times(start=datetime(1, 1, 1), stop=datetime(9999, 12, 31), every=DAY, unit="second")
    column = long.decode(np.array([0, long.size - 1]))

    assert column.type == pa.date32()
    assert column.to_pylist() == [date(1, 1, 1), date(9999, 12, 30)]
    halves = Times(start=datetime(1, 1, 1), stop=datetime(9999, 12, 31), every=DAY // 2, unit="second")
    assert halves.decode(np.array([1, halves.size - 1])).to_pylist() == [
        datetime(1, 1, 1, 12),
        datetime(9999, 12, 30, 12),
    ]


def test_days_that_start_at_noon_are_timestamps() -> None:
    noons = Times(start=datetime(2024, 1, 1, 12), stop=datetime(2024, 1, 3, 12), every=DAY, unit="second")

    assert noons.decode(np.arange(2)).to_pylist() == [datetime(2024, 1, 1, 12), datetime(2024, 1, 2, 12)]


@given(examples.times(), st.datetimes())
def test_every_time_lies_in_its_interval(times: Times, value: datetime) -> None:
    code = times.code_of(value)

    if isinstance(code, Fate):
        assert code is (Fate.OUTSIDE_LOW if value < times.start else Fate.OUTSIDE_HIGH)
        assert not times.start <= value < times.stop
    else:
        low = times.decode(np.array([code])).cast(pa.timestamp("us")).to_pylist()[0]
        assert low <= value
        if code + 1 < times.size:
            high = times.decode(np.array([code + 1])).cast(pa.timestamp("us")).to_pylist()[0]
            assert value < high


@given(examples.times(), st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.integers(-839, 839))
def test_text_and_objects_are_read_alike(times: Times, value: datetime, minutes: int) -> None:
    aware = value.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    assert times.code_of(value.isoformat()) == times.code_of(str(value)) == times.code_of(value)
    assert times.code_of(aware.isoformat()) == times.code_of(aware)
