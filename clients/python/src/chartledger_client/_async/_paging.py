from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx

from .._error import ChartledgerError
from ._connection import AsyncConnection

Item = TypeVar("Item")


@dataclass(frozen=True)
class AsyncPage(Generic[Item]):
    """A page of a list."""

    items: Sequence[Item]
    next_page_token: str | None
    """Give it as `page_token` to begin with the next page; None after the last one."""
    unreadable: Sequence[str]
    """Ids of items that belong on the page, and that the service cannot read."""
    body: Mapping[str, Any]
    """All that the response has, such as `counts` of a worklist."""
    headers: httpx.Headers
    """Those of the response, of which `Chartledger-Position` says up to where the list has every write."""


class AsyncList(Generic[Item]):
    """A list. Its pages are fetched as they are needed, by each reader from the first one on."""

    def __init__(
        self,
        connection: AsyncConnection,
        path: str,
        query: Mapping[str, Any] | None = None,
        *,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        """One that is asked for with a body is asked for by POST."""
        self._connection = connection
        self._path = path
        self._query = query or {}
        self._body = body

    async def __aiter__(self) -> AsyncIterator[Item]:
        """
        Every item. After the last one it raises `ChartledgerError` with the code `unreadable` where the service could not read
        all of them: a list that ends otherwise is complete.
        """
        unreadable: list[str] = []
        async for page in self.pages():
            for item in page.items:
                yield item
            unreadable += page.unreadable
        if unreadable:
            raise ChartledgerError.of_list(len(unreadable), unreadable)

    async def pages(self) -> AsyncIterator[AsyncPage[Item]]:
        """Every page, with the headers of its response."""
        place: dict[str, str] = {}
        while True:
            if self._body is None:
                request = self._connection.call("GET", self._path, params={**self._query, **place}, read=_page)
            else:
                request = self._connection.call("POST", self._path, json={**self._body, **place}, read=_page)
            page = await request
            yield page
            if page.next_page_token is None:
                return
            place = {"page_token": page.next_page_token}


def _page(response: httpx.Response) -> AsyncPage[Any]:
    body = response.json()
    return AsyncPage(
        body["items"], body["next_page_token"], body.get("unreadable", []), body, response.headers
    )
