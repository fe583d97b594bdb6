from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._connection import Connection


def read_pages(
    connection: Connection,
    path: str,
    query: Mapping[str, Any] | None = None,
    *,
    body: Mapping[str, Any] | None = None,
) -> Iterator[Any]:
    """Every item of a list, page by page; of one that is asked for with a body, by POST."""
    token: str | None = None
    while True:
        if body is None:
            page = connection.call("GET", path, params={**(query or {}), "page_token": token})
        else:
            place = {} if token is None else {"page_token": token}
            page = connection.call("POST", path, json={**body, **place})
        yield from page["items"]
        token = page["next_page_token"]
        if token is None:
            return
