"""How the noise of each law is drawn: by the sampler that its class registered, or by a table of its chances.

Promise: a sampler's draws follow its law exactly, given fair bits, whichever it is.
Cost: a sampler is built once for each law and rule, and kept: it holds public numbers only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hushtable.laws.integers import Piece
from hushtable.laws.law import NoiseLaw
from hushtable.noise.entropy import BitSource
from hushtable.noise.tabled import TabledSampler


class Sampler(Protocol):
    """Draws from one integer law."""

    def draw(self, entropy: BitSource, *, count: int) -> NDArray[np.int64]:
        """Return `count` independent values."""


# Of the noise itself (None), or of its size given a rule, by the rule's pieces.
SamplerMaker: TypeAlias = Callable[[Any, tuple[Piece, ...] | None], Sampler]

_makers: dict[type[NoiseLaw], SamplerMaker] = {}


def register_sampler(law: type[NoiseLaw], maker: SamplerMaker) -> None:
    """Let the noise of a class of laws be drawn by samplers of its own."""
    _makers[law] = maker


@lru_cache(maxsize=64)
def sampler_of(law: NoiseLaw, pieces: tuple[Piece, ...] | None = None) -> Sampler:
    """Return the sampler of a law's noise, or of the sizes |V| that a rule with these pieces accepts."""
    return _makers.get(type(law), TabledSampler)(law.checked(), pieces)
