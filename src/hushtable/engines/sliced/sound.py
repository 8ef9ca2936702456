"""Values of Arrow that are what their type says.

Arrays may hold text that is not UTF-8, decimals of more digits than are declared, and times of day beyond the
day. DuckDB trusts them: it sorts such text into its neighbours, keeps of such decimals the bits that fit, so
that two people become one, and stops at such times.

Promise: whatever is not of its type is missing, on whatever level of a column it is; all else stays.
Cost: one pass over text, decimals and times of day; Python looks at an array that has a bad value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

ROOM = ((4, 2), (9, 4), (18, 8), (38, 16))  # digits of decimals, and the bytes in which DuckDB keeps them
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def sound(values: Any) -> Any:
    """Return an array, or a chunked one, without what is not of its type.

    >>> import pyarrow as pa
    >>> sound(pa.array([b"a", b"\\xff"]).view(pa.string())).to_pylist()
    ['a', None]
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([sound(chunk) for chunk in values.chunks], type=values.type)
    if not may_be_unsound(values.type):
        return values
    if isinstance(values.type, pa.BaseExtensionType):
        stored = sound(values.storage)
        return values if stored is values.storage else pa.ExtensionArray.from_storage(values.type, stored)
    if pa.types.is_dictionary(values.type):
        return _sound_dictionary(values)
    return _sound_nested(values) if values.type.num_fields else _sound_leaf(values)


def may_be_unsound(kind: pa.DataType) -> bool:
    """Return whether a type has values, on some level, that its arrays may hold and that are not of it."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return may_be_unsound(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return may_be_unsound(kind.value_type)
    leaf = is_text(kind) or _is_cut(kind) or pa.types.is_time(kind)
    return leaf or any(may_be_unsound(kind.field(place).type) for place in range(kind.num_fields))


def _is_cut(kind: pa.DataType) -> bool:
    """Return whether a type is of decimals of which DuckDB keeps fewer bits than Arrow does.

    Where it keeps all, numbers of too many digits stay apart: DuckDB itself hands over its largest ones so.
    """
    import pyarrow as pa

    if not pa.types.is_decimal(kind):
        return False
    return bool(kind.byte_width > next((room for most, room in ROOM if kind.precision <= most), 0))


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _sound_dictionary(values: Any) -> Any:
    import pyarrow as pa

    values.validate(full=False)
    held = sound(values.dictionary)
    if held is values.dictionary:
        return values
    return pa.DictionaryArray.from_arrays(values.indices, held, ordered=values.type.ordered)


def _sound_nested(values: Any) -> Any:
    """Return structs and lists with sound parts; only these come here (`arrow.taken_columns`)."""
    import pyarrow as pa

    def parts(of: Any) -> list[Any]:
        struct = pa.types.is_struct(of.type)
        return [of.field(place) for place in range(of.type.num_fields)] if struct else [of.values]

    before = parts(values)
    if all(sound(part) is part for part in before):
        return values
    # What was cut out of a longer array has a place in it, which no part of a new one has: so it is copied.
    copied = pa.concat_arrays([values, values.slice(0, 0)])
    after, missing, kind = [sound(part) for part in parts(copied)], copied.is_null(), values.type
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays(after, fields=list(kind), mask=missing)
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(after[0], type=kind, mask=missing)
    maker = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return maker.from_arrays(copied.offsets, after[0], type=kind, mask=missing)


def _sound_leaf(values: Any) -> Any:
    import pyarrow as pa

    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        if is_text(values.type) and "UTF8" not in str(error):
            raise  # offsets that point elsewhere
    else:
        return values
    if is_text(values.type):
        found = values.cast(_bytes_like(values.type)).to_pylist()
        return pa.array([_decoded(each) for each in found], type=values.type)
    return _without(values, _outside(values))


def _bytes_like(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return pa.binary_view() if pa.types.is_string_view(kind) else pa.large_binary()


def _decoded(text: bytes | None) -> str | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return None


def _outside(values: Any) -> list[bool]:
    """Return which decimals have too many digits, or which times lie beyond the day."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_time(kind):
        numbers = values.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
        return [each is not None and not 0 <= each < _DAY[kind.unit] for each in numbers]
    width, raw = kind.byte_width, values.buffers()[1].to_pybytes()
    places = range(values.offset * width, (values.offset + len(values)) * width, width)
    numbers = [int.from_bytes(raw[place : place + width], "little", signed=True) for place in places]
    return [abs(each) >= 10**kind.precision for each in numbers]


def _without(values: Any, which: list[bool]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    # From bytes: what computes with values looks at them first, and raises.
    copied = pa.concat_arrays([values, values.slice(0, 0)])
    kept = pc.and_(copied.is_valid(), pc.invert(pa.array(which)))
    return pa.Array.from_buffers(values.type, len(which), [kept.buffers()[1], copied.buffers()[1]])
