from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._connection import Connection
from ._error import ChartledgerError


def read_pages(
    connection: Connection,
    path: str,
    query: Mapping[str, Any] | None = None,
    *,
    body: Mapping[str, Any] | None = None,
) -> Iterator[Any]:
    """
    Every item of a list, page by page; of one that is asked for with a body, by POST. After the last one it raises
    `ChartledgerError` with the code `unreadable` where the service could not read all of them: a list that ends otherwise is
    complete.
    """
    unreadable: list[str] = []
    token: str | None = None
    while True:
        if body is None:
            page = connection.call("GET", path, params={**(query or {}), "page_token": token})
        else:
            place = {} if token is None else {"page_token": token}
            page = connection.call("POST", path, json={**body, **place})
        yield from page["items"]
        unreadable += page.get("unreadable", [])
        token = page["next_page_token"]
        if token is None:
            break
    if unreadable:
        raise ChartledgerError.of_list(unreadable)
