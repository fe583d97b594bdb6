# Written by `npm run docs` from `../_async`: change that.
from __future__ import annotations

import json
import re
from collections.abc import Generator, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import (
    Any,
    Literal,
    Protocol,
    Union,
)

import time
import httpx
from typing_extensions import TypedDict

from .._error import ChartledgerError
from .._http import backoff_seconds
from ..types import EventType, Kind
from ._connection import Connection, read_parts

# The service sends something at least every 15 seconds.
_SILENCE_SECONDS = 45.0
# A comment with the position of a stream on which nothing was sent for a while.
_POSITION = re.compile(r": position (\d+)")


class Checkpoint(Protocol):
    """Where the position of a reader is kept: a file, a row, best beside what is made of the events."""

    def load(self) -> str | None:
        """The position that was saved last; None at first."""

    def save(self, position: str) -> None:
        """Keeps a position. Everything up to it has been taken."""


class EventsOptions(TypedDict, total=False):
    """Which events are read, and from where on."""

    after: str | None
    """Begin after this position (the `sequence` of an event), unless the checkpoint has one. Default: with the first event."""
    from_: str | None
    """Begin with the first event recorded at this moment (ISO 8601) or later, unless the checkpoint has a position."""
    kinds: Sequence[Union[Kind, Literal["document", "readiness"]]] | None
    """Only events of these kinds."""
    types: Sequence[EventType] | None
    """Only events of these types."""
    unchanged: Literal["skip", "send"] | None
    """`skip`: without events that changed nothing."""
    checkpoint: Checkpoint | None
    """Loaded at the beginning; saved when an event was taken, which is when the next one is asked for."""
    on_interruption: Callable[[ChartledgerError], None] | None
    """Called with the reason each time the connection was lost, before it is made again."""


@dataclass(frozen=True)
class ServerSentEvent:
    """A message of a stream of server-sent events, or, without data, the position that the stream has reached."""

    id: str | None
    data: str | None


def follow_events(
    connection: Connection, view: str | None, options: EventsOptions
) -> Generator[Any, None, None]:
    """
    The events of the workspace, and each further one as it is recorded, for as long as the caller stays: a connection that is
    lost is made again from the last position. Raises what connecting again does not mend, such as a deactivated key or a status
    of 500 that comes again after `max_retries`, and what the checkpoint raises.
    """
    checkpoint = options.get("checkpoint")
    saved = checkpoint.load() if checkpoint else None
    with closing(
        _messages(connection, _query(view, options), saved, options.get("on_interruption"))
    ) as messages:
        for message in messages:
            if message.data is not None:
                yield json.loads(message.data)
            if message.id is not None and checkpoint:
                checkpoint.save(message.id)


def _query(view: str | None, options: EventsOptions) -> dict[str, Any]:
    kinds, types = options.get("kinds"), options.get("types")
    return {
        "view": view,
        "after": options.get("after"),
        "from": options.get("from_"),
        "kinds": ",".join(kinds) if kinds else None,
        "types": ",".join(types) if types else None,
        "unchanged": options.get("unchanged"),
    }


def _messages(
    connection: Connection,
    query: Mapping[str, Any],
    position: str | None,
    on_interruption: Callable[[ChartledgerError], None] | None,
) -> Generator[ServerSentEvent, None, None]:
    """The messages of one connection after the other, each beginning where the one before it ended."""
    failures = defects = 0
    while True:
        try:
            with closing(_open(connection, query, position)) as response:
                for message in _read_messages(response):
                    failures = defects = 0
                    position = message.id or position
                    yield message
            raise ChartledgerError.no_answer()
        except ChartledgerError as error:
            if not error.retryable:
                raise
            failures += 1
            # An outage passes, and proxies answer it otherwise.
            defects = defects + 1 if error.status == 500 else 0
            if defects > connection.max_retries:
                raise
            if on_interruption:
                on_interruption(error)
            time.sleep(max(error.retry_after or 0.0, backoff_seconds(failures)))


def _open(connection: Connection, query: Mapping[str, Any], position: str | None) -> httpx.Response:
    begin = {} if position is None else {"after": position, "from": None}
    timeout = httpx.Timeout(**{**connection.http.timeout.as_dict(), "read": _SILENCE_SECONDS})
    return connection.attempt(
        "GET",
        "/events",
        params={**query, **begin},
        headers={"Accept": "text/event-stream"},
        timeout=timeout,
        stream=True,
    )


def _read_messages(response: httpx.Response) -> Generator[ServerSentEvent, None, None]:
    lines: list[str] = []
    for line in read_parts(response, b"\n"):
        text = line.decode()
        if reached := _POSITION.fullmatch(text):
            yield ServerSentEvent(reached[1], None)
        elif text == "":
            yield _parse(lines)
            lines = []
        elif not text.startswith(":"):
            lines.append(text)


def _parse(lines: Sequence[str]) -> ServerSentEvent:
    """A message of a stream of server-sent events (WHATWG HTML, section 9.2), as this service writes them."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value
    return ServerSentEvent(fields.get("id"), fields.get("data"))
