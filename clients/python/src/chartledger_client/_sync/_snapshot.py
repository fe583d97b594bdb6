# Written by `npm run docs` from `../_async`: change that.
from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx

from .._error import ChartledgerError
from ._connection import Connection, read_parts


class Snapshot:
    """Every record of a kind, to be read once; reading to the end closes the connection, and so does `close`."""

    position: str
    """Continue with the events after it. A record may be newer: skip events whose version is not above its own."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self.position = response.headers["Chartledger-Position"]

    def __iter__(self) -> Iterator[Any]:
        """
        Each record with its `subject`, `version`, `created_at`, `updated_at`, and `record`: the fields as they were sent,
        merged. Raises `ChartledgerError` with the code `no_answer` where they break off, which is to be read again, and at the
        end with `unreadable` where the service could not read some: a snapshot that ends otherwise is complete.
        """
        with closing(self):
            for text in read_parts(self._response, b"\n"):
                line = json.loads(text)
                if "record" in line:
                    yield line
                if "end" in line:
                    if line["end"]["unreadable"]:
                        raise ChartledgerError.of_list(line["end"]["unreadable"])
                    return
            raise ChartledgerError.no_answer()

    def close(self) -> None:
        """Ends the connection."""
        self._response.close()


def read_snapshot(
    connection: Connection, kind: str, view: str | None, as_of: str | None
) -> Snapshot:
    """Begins to read every record of a kind. Raises `ChartledgerError`."""
    response: httpx.Response = connection.call(
        "GET", "/integration/snapshot", params={"kind": kind, "view": view, "as_of": as_of}, stream=True
    )
    if "Chartledger-Position" not in response.headers:
        response.close()
        raise ChartledgerError.no_answer()
    return Snapshot(response)
