from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._connection import Connection


def read_pages(connection: Connection, path: str, query: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """Every item of a list, page by page."""
    token: str | None = None
    while True:
        page = connection.call("GET", path, params={**(query or {}), "page_token": token})
        yield from page["items"]
        token = page["next_page_token"]
        if token is None:
            return
