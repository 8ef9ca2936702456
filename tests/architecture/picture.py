"""Draws the rooms and who imports whom, from the import graph: `python -m tests.architecture.picture`.

Layers stand in pyproject.toml, imports in the code; nothing is placed by hand, so the picture cannot lie. An
arrow is left out where a longer way says the same (a room that imports one which imports another).
"""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
PRIVATE = {"table", "noise", "engines", "ledger", "summaries"}
WIDTH, HEIGHT, GAP, LAYER, MARGIN = 132, 40, 44, 104, 24
Edges = dict[str, set[str]]


def layers() -> list[list[str]]:
    """The rooms from top to bottom, as pyproject.toml has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (found,) = (c for c in settings["tool"]["importlinter"]["contracts"] if c["id"] == "rooms")
    return [[room.strip(" ()") for room in line.split("|")] for line in found["layers"]]


def imports(rooms: list[str]) -> Edges:
    """Which rooms each room imports, directly."""
    graph = grimp.build_graph("hushtable", cache_dir=None)
    edges: Edges = {room: set() for room in rooms}
    for module in graph.modules:
        own = module.removeprefix("hushtable.").partition(".")[0]
        for other in graph.find_modules_directly_imported_by(module):
            room = other.removeprefix("hushtable.").partition(".")[0]
            if own in edges and room in edges and room != own:
                edges[own].add(room)
    return edges


def reached(edges: Edges, room: str) -> set[str]:
    """All rooms below a room."""
    found = set(edges[room])
    for each in edges[room]:
        found |= reached(edges, each)
    return found


def reduced(edges: Edges) -> Edges:
    """The same without arrows that a longer way makes needless."""
    return {
        room: {each for each in below if not any(each in reached(edges, other) for other in below - {each})}
        for room, below in edges.items()
    }


def drawn() -> str:
    """The picture, as SVG."""
    rows = layers()
    edges = reduced(imports([room for row in rows for room in row]))
    widest = max(map(len, rows))
    width = 2 * MARGIN + widest * WIDTH + (widest - 1) * GAP
    height = 2 * MARGIN + (len(rows) - 1) * LAYER + HEIGHT
    places: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        start = (width - len(row) * WIDTH - (len(row) - 1) * GAP) / 2
        for number, room in enumerate(row):
            places[room] = (start + number * (WIDTH + GAP), MARGIN + level * LAYER)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="15">',
        "<title>The rooms of hushtable, and which ones each imports</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#7a8794"/></marker></defs>',
    ]
    for room in sorted(edges):
        for other in sorted(edges[room]):
            points = " ".join(f"{x:g},{y:g}" for x, y in _way(rows, places, room, other))
            lines.append(
                f'<polyline points="{points}" fill="none" stroke="#7a8794" stroke-width="1.3" '
                'marker-end="url(#tip)"/>'
            )
    for room, (x, y) in places.items():
        fill, edge = ("#fdeadb", "#c8763c") if room in PRIVATE else ("#e3eefb", "#4a78ad")
        lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
            f'fill="{fill}" stroke="{edge}"/>'
            f'<text x="{x + WIDTH / 2:g}" y="{y + HEIGHT / 2 + 5:g}" text-anchor="middle">{room}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _way(
    rows: list[list[str]], places: dict[str, tuple[float, float]], room: str, other: str
) -> list[tuple[float, float]]:
    """A line from one room to another that passes between the rooms of the layers in between."""
    level = {each: number for number, row in enumerate(rows) for each in row}
    (x, y), (last, bottom) = places[room], places[other]
    points = [(x + WIDTH / 2, y + HEIGHT)]
    goal = last + WIDTH / 2
    for between in range(level[room] + 1, level[other]):
        row = rows[between]
        top = MARGIN + between * LAYER
        gaps = [places[row[0]][0] - GAP / 2, *(places[each][0] + WIDTH + GAP / 2 for each in row)]
        share = (top - points[-1][1]) / (bottom - points[-1][1])
        straight = points[-1][0] + share * (goal - points[-1][0])
        free = min(gaps, key=lambda gap: abs(gap - straight))
        inside = any(places[each][0] - 8 < straight < places[each][0] + WIDTH + 8 for each in row)
        column = free if inside else straight
        points += [(column, top - 6.0), (column, top + HEIGHT + 6.0)]
    points.append((goal, bottom - 1))
    return [point for point, after in pairwise([*points, (-1.0, -1.0)]) if point != after]


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} is drawn")
