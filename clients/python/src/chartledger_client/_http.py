from __future__ import annotations

import json
import random
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar, Union
from urllib.parse import quote

import httpx

from ._error import ChartledgerError
from .types import BatchLine

# Names the client to the service, whose audit trail has it: the package and its version.
USER_AGENT = "chartledger-client-python/0.1.0"

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 30.0

Item = TypeVar("Item")

Lines = Iterable[BatchLine]
AsyncLines = Union[Iterable[BatchLine], AsyncIterable[BatchLine]]


def backoff_seconds(tries: int) -> float:
    """Seconds to wait before try number `tries` + 1: twice as long each time, and spread, so that callers come apart."""
    seconds = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** min(tries - 1, 10))
    return seconds * random.uniform(0.5, 1)


def path_of(*parts: str) -> str:
    """
    A path of parts, each of which may hold any character. Raises `ValueError` for a part with which it would be the path of
    something else.
    """
    if not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError('an id in a path must not be empty, "." or ".."')
    return "/" + "/".join(quote(part, safe="") for part in parts)


@contextmanager
def answered() -> Iterator[None]:
    """Raises `ChartledgerError` with the code `no_answer` when an answer does not come within, or not whole."""
    try:
        yield
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError):
        raise
    except (httpx.TransportError, httpx.DecodingError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ChartledgerError.no_answer() from error


def each(items: Iterable[Item]) -> Iterable[Item]:
    """The items, for a caller that blocks."""
    return items


async def async_each(items: Union[Iterable[Item], AsyncIterable[Item]]) -> AsyncIterator[Item]:
    """The items, which may themselves be awaited, for a caller that does not block."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
