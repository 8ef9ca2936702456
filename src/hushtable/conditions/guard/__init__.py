"""The one guard for SQL that people write: owners' filters and queries, recipients' conditions and queries.

To review it, read in this order:

1. `policies`: who may write what, in one record each.
2. `texts`: what text the parser is trusted with, and what is said in place of DuckDB's errors.
3. `functions`: the one list of functions that may be called, with what must hold for their arguments.
4. `expressions`: the one list of kinds of expressions, and the typed tree that comes out of it.
5. `statements`: one expression, one row-local SELECT, or one SELECT of any kind.
6. `totality`: the same query, which gives NULL where a row would make it fail.
7. `trials`: every call of an owner's text on made-up values, before a row is read.
8. `locked`: the database in which text of recipients runs, and Ctrl-C.

Promise: every list names what is allowed. Whatever DuckDB adds to its language is refused until it is read
and listed here.
"""
