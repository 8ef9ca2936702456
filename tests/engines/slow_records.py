"""The slow way to read CSV: one record after another, one byte after another."""

from __future__ import annotations

from dataclasses import dataclass

from hushtable.engines.local.records import TextFormat


class TooFar(Exception):
    """A record is not decided within the bytes that may be looked at."""


@dataclass
class Outcome:
    """A record: its fields, or why it has none, and where it ends."""

    fields: list[bytes] | None
    end: int
    too_long: bool = False


def slow_record(data: bytes, start: int, form: TextFormat, longest: int) -> Outcome:
    """Return one record of a file."""

    def at(place: int) -> bytes | None:
        if place >= len(data):
            return None
        if place >= start + longest:
            raise TooFar
        return data[place : place + 1]

    def rest_of_line(place: int) -> int:
        while at(place) not in (None, form.end):
            place += 1
        return place + (at(place) is not None)

    def strict() -> Outcome:
        fields: list[bytes] = []
        place = start
        while True:
            value = b""
            if at(place) == b'"':
                opening, place = place, place + 1
                while True:
                    byte = at(place)
                    if byte is None:
                        return Outcome(None, rest_of_line(opening))
                    if byte == b'"' and at(place + 1) != b'"':
                        break
                    value += byte
                    place += 2 if byte == b'"' else 1
                place += 1
                behind, returns = place, 0
                while returns < form.returns and at(behind) == b"\r":
                    behind, returns = behind + 1, returns + 1
                fields.append(value)
                if at(behind) is None:
                    return Outcome(fields, behind)
                if at(behind) == form.end:
                    return Outcome(fields, behind + 1)
                if at(place) != form.delimiter:
                    return Outcome(None, rest_of_line(opening))
                place += 1
                continue
            while (byte := at(place)) not in (None, form.delimiter, form.end):
                value += byte or b""
                place += 1
            if byte == form.delimiter:
                fields.append(value)
                place += 1
                continue
            for _ in range(form.returns):
                value = value.removesuffix(b"\r")
            return Outcome([*fields, value], place + (byte is not None))

    try:
        return strict()
    except TooFar:
        pass
    place, quoted, at_start = start, False, True
    while place < len(data):
        byte = data[place : place + 1]
        place += 1
        if quoted:
            if byte == b'"':
                if data[place : place + 1] == b'"':
                    place += 1
                else:
                    quoted = False
        elif byte == b'"' and at_start:
            quoted = True
        elif byte == form.end:
            break
        at_start = byte == form.delimiter and not quoted
    return Outcome(None, place, too_long=True)


def slow_records(data: bytes, form: TextFormat, longest: int) -> list[Outcome]:
    """Return all records of a file."""
    found: list[Outcome] = []
    place = 0
    while place < len(data):
        found.append(slow_record(data, place, form, longest))
        place = found[-1].end
    return found
