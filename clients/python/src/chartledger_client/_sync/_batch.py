# Written by `npm run docs` from `../_async`: change that.
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from .. import types
from .._error import ChartledgerError
from .._http import Lines, each
from ._connection import Connection

# Bytes of one request; the service takes more, but answers when it has all of them.
_CHUNK_BYTES = 4_000_000

Query = Mapping[str, Any]


def send_batch(
    connection: Connection, records: Lines, chunk_lines: int, query: Query
) -> Iterator[types.BatchResult]:
    """
    Sends records of all kinds, in requests of many lines, and yields what became of each, in the order in which they were sent;
    the next ones are taken when those results have been. A refused line stops no other, and those that may be accepted later
    are sent again. Raises `ChartledgerError` when a request fails as a whole; all lines before it have had their results.
    """
    sent = 0
    for lines in _chunks(records, chunk_lines):
        for result in _send_chunk(connection, lines, query):
            result["line"] += sent
            yield result
        sent += len(lines)


def _chunks(records: Lines, most: int) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    size = 0
    for record in each(records):
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if lines and (len(lines) == most or size + len(line) > _CHUNK_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield lines


def _send_chunk(
    connection: Connection, lines: list[bytes], query: Query
) -> list[types.BatchResult]:
    """What became of each line, in their order, when those that may be accepted later were tried as often as any request."""
    results = _send(connection, lines, query)
    tries = 1
    while again := _retried(results):
        if not connection.wait_to_retry(
            tries, max(result.get("retryAfter", 0) for result in again)
        ):
            break
        numbers = [result["line"] for result in again]
        try:
            repeated = _send(connection, [lines[number - 1] for number in numbers], query)
        except ChartledgerError:
            # The results of what is stored are due all the same.
            break
        for number, result in zip(numbers, repeated):
            result["line"] = number
            results[number - 1] = result
        tries += 1
    return results


def _retried(results: list[types.BatchResult]) -> list[types.BatchResult]:
    """The results of lines to send again: not those of a record of which a later line was stored, which they would undo."""
    stored: set[tuple[str | None, str | None]] = set()
    again: list[types.BatchResult] = []
    for result in reversed(results):
        record = (result["kind"], result["id"])
        if result["status"] == 200:
            stored.add(record)
        elif result.get("retryable") and record not in stored:
            again.append(result)
    return again[::-1]


def _send(connection: Connection, lines: list[bytes], query: Query) -> list[types.BatchResult]:
    def read(response: httpx.Response) -> list[types.BatchResult]:
        results = [json.loads(line) for line in response.content.split(b"\n") if line]
        if not results or "summary" not in results.pop() or len(results) != len(lines):
            raise ChartledgerError.no_answer()
        return results

    return connection.call(
        "POST",
        "/integration/batch",
        params=query,
        content=b"".join(lines),
        headers={"Content-Type": "application/x-ndjson"},
        read=read,
    )
