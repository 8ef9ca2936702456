"""A release as a recipient opens it: rows, terms, and answers with error bars.

Promise: what is printed, returned and drawn comes from the file alone, or from a folder of parts as from one
file. Every answer has an interval and a note that says what the interval promises.
Cost: opening reads the footer, or those of all parts; rows are read when they are first asked for, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.answers.answerer import Answered, Answerer, GroupsAnswered
from hushtable.answers.answerers import answerer_of
from hushtable.answers.estimation.estimate import Estimate, column_names
from hushtable.answers.estimation.law import Assumption
from hushtable.answers.noise_share import NoiseShare, noise_share
from hushtable.answers.others import without
from hushtable.answers.question import Question
from hushtable.answers.sketched.rows import Combine
from hushtable.conditions.conditions import selected
from hushtable.conditions.naming import place_of
from hushtable.conditions.selection import Selection
from hushtable.domain.attributes import Attribute
from hushtable.domain.items import Item, attribute_at, attribute_named, item_called, item_of, items_in
from hushtable.domain.later import Later
from hushtable.errors import BadChoice, BadNumber, BadQuery, shown, within_memory
from hushtable.laws.rationals import as_count
from hushtable.release.reading import read_head
from hushtable.release.record import ReleaseFile

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib import figure

    from hushtable.answers.synthetic.rows import SyntheticRows
else:
    pa, figure = Later("pyarrow"), Later("matplotlib.figure")

Where = Mapping[str, object] | str | None
_LEAST = 1e-12  # below which a chance is lost in rounding


class Release(ReleaseFile):
    """A published table: rows, the terms on which they were published, and answers. Made by `open`.

    >>> import hushtable as ht
    >>> ht.Release.guarantee.__doc__
    'One plain sentence: who is protected, against what, and how well.'
    """

    @cached_property
    def _answerer(self) -> Answerer:
        return answerer_of(self)

    @cached_property
    def noise(self) -> NoiseShare:
        """How much of the release is noise: how many rows noise alone would give, table by table."""
        return noise_share(self)

    def _combining(self, combine: Combine | None) -> Answerer:
        """Return what answers, with rows of a sketch put together this way."""
        return self._answerer if combine is None else self._answerer.combined(combine)

    @within_memory
    def total(
        self,
        where: Where = None,
        /,
        *,
        confidence: float = 0.95,
        corrected: bool | None = None,
        assume: Assumption | None = None,
        combine: Combine | None = None,
        **values: object,
    ) -> Estimate:
        """Estimate the sum over the cells that meet a condition.

        ==================================  ==============================================================
        condition                           means
        ==================================  ==============================================================
        `home="A"`, `home=["A", "B"]`       one value, or any of several; a bin is named by its lower edge
        `age=ht.between(30, 45)`            a half-open range; bounds are edges of bins
        `{"home": "A"}`                     the same, for names that are no Python names
        `"home = 'A' AND age >= 30"`        SQL over the attributes
        ==================================  ==============================================================

        `corrected=False` leaves out the correction by the noisy total, which releases with a cutoff get.
        Intervals hold for any cells, whatever a cutoff hid. `assume="even"` gives narrower intervals.
        These hold only if hidden counts are spread evenly, or differ between groups as published counts do.
        Where an interval needs no assumption, `assume` changes nothing. `Estimate.assumes` names the
        assumption of an answer, if it has one.
        A release of a tree answers boxes, one condition for each attribute, from the nodes that make them up.
        A sketch answers for up to 10^7 cells; `combine="median"` takes the median of its rows for their mean.
        """
        chance = _chance(confidence)
        if "where" in values and "where" not in self.domain.names:
            if where is not None:
                raise BadQuery("two conditions are given", "Join them by AND.")
            where = values.pop("where")  # type: ignore[assignment]
        selection = selected(self.domain, where, values)
        answerer = self._combining(combine)
        found = answerer.total(selection, chance=chance, corrected=corrected, assume=assume)
        return _estimate(found, confidence)

    @within_memory
    def at(
        self,
        cell: Mapping[str, object] | None = None,
        /,
        *,
        confidence: float = 0.95,
        combine: Combine | None = None,
        **values: object,
    ) -> Estimate:
        """Estimate one cell, by its noisy count where it is published: closer than its weight.

        Of a cell that is not published only bounds are known: its value is given as 0, with a standard error
        that is the largest possible. Where counts cannot be negative, its interval starts at 0. A release of
        Haar wavelets has no counts of cells: it answers as for a `total`.
        """
        chance = _chance(confidence)
        answerer = self._combining(combine)
        return _estimate(answerer.cell(self._cell(cell, values), chance=chance), confidence)

    @within_memory
    def by(
        self,
        names: str | Sequence[str],
        /,
        *,
        where: Where = None,
        confidence: float = 0.95,
        corrected: bool | None = None,
        assume: Assumption | None = None,
        simultaneous: bool = False,
        top: int | None = None,
        combine: Combine | None = None,
        nonnegative: bool = False,
        model: bool = False,
    ) -> pa.Table:
        """Estimate the sum for each value of one or several attributes, as a pyarrow Table.

        Groups without a published row are listed too, up to 10^6 groups; `top` gives the largest estimates
        instead, of any number of groups (beyond 10^6, of those with a row; trees answer for 10^6 at most).
        With `simultaneous=True`, the chance `confidence` is that all intervals hold together. Columns: the
        attributes, `estimate`, `standard_error`, `low`, `high` (with a `_` behind where an attribute has that
        name). With `assume="even"`, intervals that rest on it are called `low_if_even`, `high_if_even`. The
        table's metadata hold the note, the confidence and the number of groups there are.
        An attribute may be given at one of its levels: `by(["month(day)", "diagnosis"])`. Of several tables,
        `nonnegative=True` adds a column of estimates that are 0 or more and still add up; these are no longer
        right on average, and the interval is about the estimate. `model=True` adds a column `model`: the most
        even numbers that agree with the whole tables, without any promise of how close they are. It answers
        for attributes that no table has together, too; estimates and intervals are then null.
        """
        chance = _chance(confidence)
        items = self._items(names)
        if top is not None and as_count(top, name="top") < 1:
            raise BadNumber(name="top", value=top, allowed="is below 1", hint="Ask for at least one group.")
        selection = selected(self.domain, where, {})
        question = Question(
            selection,
            items,
            chance=chance,
            corrected=corrected,
            assume=assume,
            together=simultaneous,
            top=top,
            nonnegative=nonnegative,
            model=model,
        )
        answerer = self._combining(combine)
        if nonnegative and not self.terms.parts:
            fact = "this release has one table, and nothing says how to raise its negative counts"
            raise BadQuery(fact, "Leave `nonnegative` out, or publish several tables.")
        if model and not self.terms.parts:
            fact = "this release has one table, so a model has nothing to combine"
            raise BadQuery(fact, "Leave `model` out, or publish several tables.")
        found = answerer.groups(question)
        if top is not None:
            found = found.largest(top)
        return self._table_of(found, items, confidence)

    @within_memory
    def rows(self, names: str | Sequence[str] | None = None, /, *, count: int | None = None) -> pa.Table:
        """Return synthetic rows, one for each counted person, as a pyarrow Table. None of them is a person.

        Of a hierarchy, they reproduce the whole numbers of every published level exactly (`whole`). Of
        several tables, they follow what the tables say together, as nearly as whole rows can; `names` says
        which attributes they have, for there may be too many for all. What no table says of attributes
        together is filled in as evenly as the tables allow, so that rows hold nothing beyond the release, and
        cost no privacy. No lots are drawn: equal releases give equal rows. `count` asks for another number of
        rows. The table's metadata say that it is synthetic.

        Rows have no intervals: noise, and what was filled in, look like people. Ask the release where it
        matters how sure a count is.
        """
        return self._synthetic(names, count).table()

    @within_memory
    def write_rows(
        self,
        path: str | PathLike[str],
        /,
        *,
        names: str | Sequence[str] | None = None,
        count: int | None = None,
        overwrite: bool = False,
    ) -> int:
        """Write synthetic rows as a Parquet file, and return how many they are (`rows`)."""
        made = self._synthetic(names, count)
        made.write(path, overwrite=overwrite)
        return made.number

    def _synthetic(self, names: str | Sequence[str] | None, count: int | None) -> SyntheticRows:
        if count is not None and as_count(count, name="count") < 0:
            raise BadNumber(name="count", value=count, allowed="is below 0", hint="Ask for 0 rows or more.")
        return self._answerer.rows([names] if isinstance(names, str) else names, count=count)

    @within_memory
    def whole(self) -> pa.Table:
        """Return the rows of a hierarchy with a column `whole`: whole numbers, 0 or more, that add up.

        The whole number of a node is shared out among the nodes below it, from the total down, in proportion
        to the fitted counts, by largest remainders. What is not in a published child is in absent ones. Such
        numbers are not right on average: small counts come out too high, because none is below 0.
        """
        import pyarrow as pa

        table = self.to_arrow()
        return table.append_column("whole", pa.array(self._answerer.whole()))

    @within_memory
    def others(
        self,
        names: str | Sequence[str],
        /,
        *,
        top: int,
        where: Where = None,
        confidence: float = 0.95,
        corrected: bool | None = None,
        assume: Assumption | None = None,
        combine: Combine | None = None,
    ) -> Estimate:
        """Estimate the sum over all groups of `by` but the `top` largest: the total less what these have.

        Its interval holds whichever groups are the largest, though the same noise decides that: it is made of
        the interval of the total and of intervals of all groups that hold together. It is wider than that of
        the same groups chosen in advance. If there are no more than `top` groups, that is a `BadQuery`.
        """
        chance = _chance(confidence)
        most = as_count(top, name="top")
        if most < 1:
            raise BadNumber(name="top", value=top, allowed="is below 1", hint="Leave at least one group out.")
        answerer, items = self._combining(combine), self._items(names)
        selection = selected(self.domain, where, {})
        question = Question(
            selection, items, chance=chance / 2, corrected=corrected, assume=assume, together=True, top=most
        )
        found = answerer.groups(question)
        if found.number <= most:
            fact = f"there are {found.number:,} groups, so none is left beside the {most:,} largest"
            raise BadQuery(fact, "Ask for fewer of the largest, as in top=20, or for a `total`.")
        total = answerer.total(selection, chance=chance / 2, corrected=corrected, assume=assume)
        clamp = self.terms.measure.clamp
        rest = without(total, found.largest(most), signed=clamp is not None and clamp[0] < 0)
        return _estimate(rest, confidence)

    @within_memory
    def sql(self, text: str, /) -> pa.Table:
        """Run one SELECT over the table `release`: the rows, as published.

        Of several tables, `release` is the smallest that has the columns which the query names, and
        `release_tables` has the rows of all: sums over it would count everybody several times.
        A sum of `weight` is an estimate; of dyadic ranges, sum the rows of one level only. `total` and `by`
        say how far to trust it. The text reaches nothing but these rows.
        """
        from hushtable.answers.running import run_sql
        from hushtable.answers.tables.listing import tables_of

        return run_sql(self.to_arrow(), text, tables_of(self))

    @within_memory
    def plot(
        self,
        names: str | Sequence[str],
        /,
        *,
        where: Where = None,
        top: int | None = None,
        confidence: float = 0.95,
        corrected: bool | None = None,
        assume: Assumption | None = None,
        simultaneous: bool = False,
        combine: Combine | None = None,
        title: str | None = None,
        output: str | PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> figure.Figure:
        """Draw `by`: bars with error bars, a line with a band over time, or a heat map of two attributes.

        Needs matplotlib. With `output`, the picture is also written as .png, .svg or .pdf.
        """
        from hushtable.plots.drawing import draw
        from hushtable.plots.page import save

        asked = tuple([names] if isinstance(names, str) else names)
        groups = self.by(
            names,
            where=where,
            confidence=confidence,
            corrected=corrected,
            assume=assume,
            simultaneous=simultaneous,
            top=top,
            combine=combine,
        )
        number = int(groups.schema.metadata[b"groups"])

        def others(most: int) -> Estimate | None:
            try:
                return self.others(
                    names,
                    top=most,
                    where=where,
                    confidence=confidence,
                    corrected=corrected,
                    assume=assume,
                    combine=combine,
                )
            except BadQuery:  # no total can be had: the picture then says how many groups it does not show
                return None

        drawn = draw(self.terms, groups, asked, where=where, title=title, total_groups=number, others=others)
        if output is not None:
            save(drawn, output, overwrite=overwrite)
        return drawn

    @within_memory
    def page(
        self,
        path: str | PathLike[str],
        /,
        *,
        title: str | None = None,
        groups: int = 100_000,
        confidence: float = 0.95,
        overwrite: bool = False,
    ) -> None:
        """Write one HTML file that shows this release to people, in any browser and without a network.

        It holds the answers of `by` for each attribute at each level, for the tables that were published and
        for other pairs, up to so many groups in all; of larger tables it has the largest groups, and says so.
        """
        from hushtable.pages.making import page_of, write_page

        most = as_count(groups, name="groups")
        _chance(confidence)
        made = page_of(self, file=self.path, title=title, groups=most, confidence=confidence)
        write_page(made, path, overwrite=overwrite)

    @within_memory
    def report(
        self,
        path: str | PathLike[str],
        /,
        *,
        ledger: Any = None,
        title: str | None = None,
        confidence: float = 0.95,
        overwrite: bool = False,
    ) -> None:
        """Write a report for those who approve this release: .html, .md, or .pdf if Chromium is installed.

        It says who is protected and how, the cost, what was published and why, how accurate each table is
        beside what was planned, and which checks were run, and has a place for names. With `ledger`, an
        `ht.Ledger` or its path, it is the owner's version: it has the entry that paid for this very file, and
        all others.
        """
        # It may read a ledger, which whoever asks a release never does: looked up when it is first asked for.
        _chance(confidence)
        reporting: Any = import_module("hushtable.publishing.reporting")
        reporting.report(self, path, ledger=ledger, title=title, confidence=confidence, overwrite=overwrite)

    @within_memory
    def card(
        self,
        path: str | PathLike[str] | None = None,
        /,
        *,
        curator: str | None = None,
        use: str | None = None,
        region: str | None = None,
        date: str | None = None,
        author: str | None = None,
        license: str | None = None,
        url: str | None = None,
        overwrite: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Return what other programs catalogue this release by, and write it to `path` if one is given.

        `"registry"` is a record of the registry of differential privacy deployments, written as .yaml;
        `"croissant"` describes the data set for catalogues, written as .json. The options are what a release
        does not know of itself; what nobody says is left out.
        """
        from hushtable.pages.card import Provenance, card_of, write_card

        known = Provenance(
            curator=curator, use=use, region=region, date=date, author=author, license=license, url=url
        )
        if path is not None:
            write_card(self, known, path, file=self.path, overwrite=overwrite)
        return card_of(self, known, file=self.path)

    @within_memory
    def thin(self, *, size: int, output: str | PathLike[str], overwrite: bool = False) -> Release:
        """Write a smaller release of at most `size` rows to `output`, and return it. It costs no epsilon.

        Its rows have the same law as if so few rows had been asked for at first, and its terms say so.
        """
        # Thinning draws lots, so it lives with what draws noise. It is looked up when it is first asked for:
        # whoever opens and asks a release loads none of that (tests/answers/test_making.py).
        thinning: Any = import_module("hushtable.publishing.thinning")
        thinned: Release = thinning.thin(self, size=size, output=output, overwrite=overwrite)
        return thinned

    @within_memory
    def export(self, path: str | PathLike[str], /, *, overwrite: bool = False) -> None:
        """Write the rows, with labels, as the file that the end of `path` names.

        It ends in .csv, .json, .jsonl, .arrow or .xlsx (which needs openpyxl). The guarantee stays with the
        release alone.
        """
        from hushtable.release.exporting import export_release

        export_release(self, path, overwrite=overwrite)

    def _cell(self, cell: Mapping[str, object] | None, values: Mapping[str, object]) -> Selection:
        """Return the one cell with these values."""
        if cell is not None and not isinstance(cell, Mapping):
            raise BadQuery(f"{shown(cell)} is not a cell", "Give a value of each attribute, as in home='A'.")
        given = {**(cell or {}), **values}
        if len(given) < len(cell or {}) + len(values):
            raise BadQuery("an attribute is given twice", "Give one value of each attribute.")
        absent = [name for name in self.domain.names if name not in given]
        if absent:
            fact = f"a cell has a value of every attribute, and none is given for {_listed(absent)}"
            raise BadQuery(fact, "Give one, or ask for a `total`.")
        selection = selected(self.domain, given)
        if selection.cells != 1:
            raise BadQuery(
                f"these values name {selection.cells:,} cells", "Give one value of each attribute."
            )
        return selection

    def _items(self, names: str | Sequence[str]) -> list[Item]:
        """Return the attributes that are named, each at a level."""
        given: object = names
        asked = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []
        if not asked:
            raise BadQuery("no attribute is named to group by", f"Name some of {_listed(self.domain.names)}.")
        items = [item for name in asked for item in self._named(name)]
        places = [item.place for item in items]
        for place in places:
            if places.count(place) > 1:
                raise BadQuery(
                    f"the attribute {shown(self.domain.names[place])} is named twice", "Name it once."
                )
        return items

    def _named(self, name: object) -> list[Item]:
        """Return what one name means: an attribute, or several, each perhaps at a level."""
        if not isinstance(name, str) or name in self.domain.names or not {"(", ","}.intersection(name):
            return [Item(place_of(self.domain, name))]
        try:
            called = item_called(self.domain, name)
            return [item_of(self.domain, each) for each in items_in(name)] if called is None else [called]
        except BadChoice as error:
            raise BadQuery(error.fact, error.hint) from None

    def attribute(self, name: str) -> Attribute:
        """Return what a column of groups holds: an attribute, or one at a level, as in `month(day)`."""
        return attribute_named(self.domain, name)

    def _table_of(self, found: GroupsAnswered, items: list[Item], confidence: float) -> pa.Table:
        import pyarrow as pa

        from hushtable.domain.columns import as_column

        attributes = [attribute_at(self.domain, item) for item in items]
        names = [attribute.name for attribute in attributes]
        columns = [
            attribute.values.decode(codes) for attribute, codes in zip(attributes, found.codes.T, strict=True)
        ]
        answers = found.answers
        each = (answers.value, answers.standard_error, answers.low, answers.high)
        numbers = dict(zip(column_names(found.assumes), each, strict=True))
        for name, values in {**numbers, **found.beside}.items():
            while name in names:
                name += "_"
            names.append(name)
            unknown = bool(len(values)) and bool(np.isnan(values).all())
            columns.append(pa.nulls(len(values), pa.float64()) if unknown else as_column(values))
        facts = {"note": found.note, "confidence": repr(confidence), "groups": str(found.number)}
        if found.source:
            facts["source"] = found.source
        return pa.Table.from_arrays(columns, names=names).replace_schema_metadata(facts)


@within_memory
def open_release(path: str | PathLike[str]) -> Release:
    """Open a release: a file, or a folder with its parts. Its rows are read when they are first needed.

    ==================================================  ============
    case                                                result
    ==================================================  ============
    no such file, another kind of file                  `BadRelease`
    cut off, damaged or changed after publication       `BadRelease`
    one part of several; a folder without all of them,
    with parts of another release or with other files   `BadRelease`
    a newer format                                      `BadRelease`
    ==================================================  ============

    >>> import hushtable as ht
    >>> ht.open("commute.parquet")
    Traceback (most recent call last):
        ...
    hushtable.errors.BadRelease: commute.parquet: there is no such file. Check the path.
    """
    return Release(Path(path), read_head(Path(path)))


open = open_release  # `hushtable.open`


def _chance(confidence: float) -> float:
    """Return the chance of failing."""
    given: object = confidence
    if isinstance(given, bool) or not isinstance(given, Real) or not _LEAST <= 1 - float(given) < 1 - _LEAST:
        hint = "Give a chance such as 0.95."
        raise BadNumber(name="confidence", value=confidence, allowed="must lie between 0 and 1", hint=hint)
    return 1 - float(given)


def _estimate(found: Answered, confidence: float) -> Estimate:
    answers = found.answers
    return Estimate(
        value=float(answers.value[0]),
        standard_error=float(answers.standard_error[0]),
        low=float(answers.low[0]),
        high=float(answers.high[0]),
        confidence=confidence,
        note=found.note,
        assumes=found.assumes,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(shown, names))
