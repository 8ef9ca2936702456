"""How much a domain, a release and its file may hold.

Promise: whoever opens a file of a stranger needs memory and time in proportion to the file and to the numbers
that its footer states, and these are the limits on what a footer may state. What an owner declares is held to
the same limits before anything is charged, so whatever is published can be opened. docs/format.md lists them.
"""

from __future__ import annotations

# Of a domain.
MOST_ATTRIBUTES = 10_000
MOST_EDGES = 100_000  # of one attribute
LONGEST_TEXT = 1_000  # characters of a name, a category or a label
LARGEST_DOMAIN = 1 << 28  # characters of its description in JSON

# Of the terms of a release.
LONGEST_COUNTED = 100  # characters of what is counted, as in "jobs"
LONGEST_NOTE = 10_000  # characters of a title, and of what a plan assumed
LONGEST_SQL = 1_000_000  # characters of a row filter, and of a query
LARGEST_SETTING = 10**300  # of a cutoff or a threshold: a release keeps them as floats too
LARGEST_RATE = 1 << 64  # of noise, and its inverse the smallest: answers compute with it as a float
LARGEST_TOTAL = 1 << 128  # of a noisy total: sums of 64-bit counts stay far below
MOST_NAMES = 1 << 20  # attributes of all marginals of a data cube, each as often as it is named
LONGEST_LABELS = 1 << 22  # characters of the names of all its marginals
MOST_ROWS = 1_000_000_000

# Of a file. A long description of a domain is compressed: it may be as long as is in proportion to the file,
# or as is little in any case.
LARGEST_FOOTER = 1 << 29  # bytes
LARGEST_TERMS = 1 << 28  # bytes of the entry `hushtable`
MOST_ENTRIES = 16  # of the footer's key-value metadata
MOST_VALUES = 1 << 22  # numbers, texts, lists and objects in that entry
DEEPEST_JSON = 16  # lists and objects within each other
LEAST_UNPACKED = 1 << 24  # characters of a packed domain that are little in any case
MOST_UNPACKED = 32  # further ones for each character of the packed entry
LEAST_VALUES = 1 << 20  # values of a packed domain that are few in any case; one more for each character
MOST_PARTS = 10_000  # files of a release
MOST_ROWS_IN_A_GROUP = 1 << 20
LEAST_ROWS_IN_A_GROUP = 1_000  # on average, beyond the first group
LEAST_BYTES_OF_A_CHUNK = 32  # of what the footer says about one column of one group
LARGEST_METADATA = 1 << 26  # bytes of the footer beside its entries
