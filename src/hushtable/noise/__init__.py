"""Exact draws, and the only place bits come from."""

from hushtable.noise.bernoulli import bernoulli, kept
from hushtable.noise.binomial import binomial
from hushtable.noise.entropy import BitSource, KeyStream, Replay, require_secure, signs
from hushtable.noise.geometric import (
    accepted_noise,
    cell_noise,
    one_sided_geometric,
    two_sided_geometric,
)
from hushtable.noise.lazy import LazyUniform
from hushtable.noise.places import empty_cells, uniform_subset
from hushtable.noise.uniform import uniform_below, uniform_integer

__all__ = [
    "BitSource",
    "KeyStream",
    "LazyUniform",
    "Replay",
    "accepted_noise",
    "bernoulli",
    "binomial",
    "cell_noise",
    "empty_cells",
    "kept",
    "one_sided_geometric",
    "require_secure",
    "signs",
    "two_sided_geometric",
    "uniform_below",
    "uniform_integer",
    "uniform_subset",
]
