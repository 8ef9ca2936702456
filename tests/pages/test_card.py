"""Cards hold what the release says and what the owner adds; each reader's own fields; text stays text."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.pages.card import upwards
from tests.cli.commands import run
from tests.pages.clinic import PAYLOADS, harmful

SAID: dict[str, Any] = {
    "curator": "Ministry of Health",
    "use": "to plan clinics",
    "region": "Freeland",
    "date": "2026-01-31",
    "author": "A. Bee",
    "license": "https://creativecommons.org/licenses/by/4.0/",
    "url": "https://example.org/clinics",
}
REFERENCE = Path(__file__).parents[2] / "docs/reference/card.md"


def leaves(card: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in card.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def read_back(text: str) -> Any:
    """Read YAML as others do, by YAML 1.1; that of 1.2 has fewer ways to read text as something else."""
    return yaml.safe_load(text)


def test_the_record_says_what_the_release_says(release: ht.Release) -> None:
    card = dict(leaves(release.card(**SAID)["registry"]))

    assert card["deployment.basic.name"] == release.domain.title
    assert card["deployment.privacy_loss.privacy_unit"] == "person"
    assert card["deployment.privacy_loss.privacy_unit_details"] == release.guarantee
    assert card["deployment.privacy_loss.privacy_parameters.epsilon"] == 1
    assert card["deployment.dp_variant.variant_name"] == "Pure DP"
    assert card["deployment.basic.data_curators"] == [SAID["curator"]]
    assert card["deployment.basic.publication_date"] == SAID["date"]
    digest = hashlib.sha256(release.path.read_bytes()).hexdigest()
    assert digest in card["deployment.administrative.sources"]


@pytest.mark.parametrize(
    ("cost", "variant", "parameters"),
    [
        ({"rho": "0.1"}, "Zero-concentrated DP", {"rho": 0.1}),
        ({"epsilon": Fraction(1, 3)}, "Pure DP", {"epsilon": 0.33333333333333337}),
        (
            {"epsilon": 2, "delta": "1e-9", "law": "truncated-geometric", "structure": "cells"},
            "Approximate DP",
            {"epsilon": 2, "delta": 1e-9},
        ),
    ],
)
def test_each_currency_has_its_variant(
    tmp_path: Path, cost: dict[str, Any], variant: str, parameters: dict[str, float]
) -> None:
    domain = ht.Domain(sex=ht.categories(["f", "m"]))
    rows = pa.table({"sex": ["f"] * 500})
    made = ht.publish(rows, domain=domain, size=2, output=tmp_path / "a.parquet", ledger=False, **cost)
    made.card(tmp_path / "a.yaml")
    card = dict(leaves(made.card()["registry"]))
    text = (tmp_path / "a.yaml").read_text()

    assert card["deployment.dp_variant.variant_name"] == variant
    start = "deployment.privacy_loss.privacy_parameters."
    assert {name.removeprefix(start): each for name, each in card.items() if name.startswith(start)} == (
        parameters
    )
    assert read_back(text) == made.card()["registry"]


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=100))
def test_a_number_on_a_card_is_never_below_what_was_spent(value: Fraction) -> None:
    assert value <= Fraction(repr(upwards(value))) <= value * (1 + Fraction(1, 10**15))


def test_what_nobody_said_is_left_out_and_listed(tmp_path: Path, release: ht.Release) -> None:
    said = run("card", release.path, "-o", tmp_path / "a.yaml")
    text = (tmp_path / "a.yaml").read_text()
    listed = [line.split(":")[0].strip() for line in said.output.splitlines()[1:]]

    assert said.exit_code == 0, said.output
    assert listed == [
        "deployment.basic.data_curators",
        "deployment.basic.intended_use",
        "deployment.basic.data_product_region",
        "deployment.basic.publication_date",
        "deployment.administrative.registry_authors",
    ]
    for name in listed:
        assert f"# {name.rsplit('.', 1)[1]}: to be filled in: " in text
    assert not set(listed) & dict(leaves(release.card()["registry"])).keys()
    assert {"license", "url", "creator", "datePublished"}.isdisjoint(release.card()["croissant"])
    options = [each for name, value in SAID.items() for each in (f"--{name}", value)]
    full = run("card", release.path, "-o", tmp_path / "a.yaml", "--overwrite", "--json", *options)
    assert json.loads(full.stdout)["unknown"] == []
    assert read_back((tmp_path / "a.yaml").read_text()) == release.card(**SAID)["registry"]


def test_the_reference_lists_every_field_of_the_record(release: ht.Release) -> None:
    (section,) = re.findall(r"## The record\n(.*?)\n## ", REFERENCE.read_text(), re.DOTALL)
    listed = set(re.findall(r"^\| `([a-z_.]+)`", section, re.MULTILINE))
    fields = {name.removeprefix("deployment.") for name, _ in leaves(release.card(**SAID)["registry"])}
    fields = {name.replace("parameters.epsilon", "parameters") for name in fields}

    assert listed == fields


def test_catalogues_find_the_file_and_its_columns(tmp_path: Path, release: ht.Release) -> None:
    release.card(tmp_path / "a.json", **SAID)
    card = json.loads((tmp_path / "a.json").read_text())

    required = ["@context", "@type", "conformsTo", "name", "description", "license", "url", "creator"]
    assert {*required, "datePublished", "distribution"} <= card.keys()
    assert card["@type"] == "sc:Dataset"
    assert card["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    (file,) = card["distribution"]
    assert file["sha256"] == hashlib.sha256(release.path.read_bytes()).hexdigest()
    assert file["contentUrl"] == release.path.name
    (rows,) = card["recordSet"]
    columns = [field["source"]["extract"]["column"] for field in rows["field"]]
    assert columns == pq.read_schema(release.path).names
    assert len({field["@id"] for field in rows["field"]}) == len(columns)
    assert all(field["source"]["fileObject"]["@id"] == file["@id"] for field in rows["field"])
    kinds = dict(zip(columns, (field["dataType"] for field in rows["field"]), strict=True))
    assert kinds["day"] == "sc:Date"
    assert kinds["region"] == "sc:Text"
    assert kinds["count"] == "sc:Integer"
    assert kinds["weight"] == "sc:Float"
    assert release.card(**SAID)["croissant"] == card


def test_text_of_a_harmful_release_stays_text(tmp_path: Path) -> None:
    made = harmful(tmp_path)
    made.card(tmp_path / "harm.yaml", curator='x"\ny: "z')
    record = made.card(curator='x"\ny: "z')["registry"]
    card = dict(leaves(record))

    assert read_back((tmp_path / "harm.yaml").read_text()) == record
    assert card["deployment.basic.data_curators"] == ['x" y: "z']
    assert card["deployment.privacy_loss.privacy_parameters.epsilon"] == 8
    assert re.fullmatch(r"[a-z0-9-]+", card["url_slug"])
    for field in made.card()["croissant"]["recordSet"][0]["field"]:
        assert not set(field["@id"]) & set("<>\"' ")
    assert made.card()["croissant"]["name"].startswith(PAYLOADS[0])


def test_a_release_in_parts_names_every_part(parts: ht.Release, tmp_path: Path) -> None:
    """tests/browser reads its rows by way of the card."""
    card = parts.card(tmp_path / "a.json")["croissant"]
    *files, together = card["distribution"]

    assert [each["contentUrl"] for each in files] == [
        f"trips.parquet/part-{number:05}.parquet" for number in range(7)
    ]
    for each, path in zip(files, sorted(parts.path.iterdir()), strict=True):
        assert each["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert each["contentSize"] == f"{path.stat().st_size} B"
    assert (together["@type"], together["includes"]) == ("cr:FileSet", "trips.parquet/part-*.parquet")
    assert "containedIn" not in together, "files do not hold files"
    assert {each["source"]["fileSet"]["@id"] for each in card["recordSet"][0]["field"]} == {together["@id"]}
    digests = "".join(f"{each['sha256']}  {each['@id']}\n" for each in files)
    whole = hashlib.sha256(digests.encode()).hexdigest()
    assert whole in card["citeAs"]
    assert whole in parts.card()["registry"]["deployment"]["administrative"]["sources"]


def test_what_is_said_must_make_sense(release: ht.Release, tmp_path: Path) -> None:
    wrongs: list[dict[str, Any]] = [
        {"date": "31.1.2026"},
        {"url": "example.org"},
        {"url": "javascript:x"},
        {"use": " "},
    ]
    for wrong in wrongs:
        with pytest.raises(ht.BadChoice):
            release.card(**wrong)
    with pytest.raises(ht.BadOutput, match=r"\.yaml"):
        release.card(tmp_path / "card.txt")


def test_only_a_card_of_ours_is_replaced(tmp_path: Path, release: ht.Release) -> None:
    for name, theirs in (("a.yaml", "status: Draft\n"), ("a.json", '{\n "@context": {\n  "a": "b"\n }\n}\n')):
        (tmp_path / name).write_text(theirs)
        with pytest.raises(ht.BadOutput, match="not a card by hushtable"):
            release.card(tmp_path / name, overwrite=True)
        assert (tmp_path / name).read_text() == theirs
        (tmp_path / name).unlink()
        release.card(tmp_path / name)
        with pytest.raises(ht.OutputExists):
            release.card(tmp_path / name)
        release.card(tmp_path / name, overwrite=True, use="another")
