from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any
from uuid import uuid4

import httpx
import pytest

from chartledger_client import Chartledger

URL = os.environ["CHARTLEDGER_URL"]
KEY = os.environ["CHARTLEDGER_API_KEY"]


@pytest.fixture
def chartledger() -> Iterator[Chartledger]:
    with Chartledger(url=URL, api_key=KEY) as client:
        yield client


@pytest.fixture
def fresh() -> Callable[[str], str]:
    """Ids that nobody has used."""
    return lambda kind: f"{kind}-{uuid4()}"


@pytest.fixture
def appended() -> Callable[[], list[str]]:
    """
    What was appended since the last call, or since the test began: type and subject of each event, without the affixes. What the
    service says by itself, some time later, is left out.
    """
    position = ""

    def take() -> list[str]:
        nonlocal position
        texts = []
        while True:
            query = {"limit": "10000", **({"after": position} if position else {})}
            page = httpx.get(f"{URL}/events", params=query, headers={"x-api-key": KEY}).text
            events = [json.loads(line) for line in page.split("\n") if line]
            if not events:
                return texts
            position = events[-1]["sequence"]
            told = [(event["type"].split(".")[2], event["subject"]) for event in events]
            texts += [f"{type} {subject}" for type, subject in told if type != "readiness_changed"]

    take()
    return take


class BadRoad(httpx.BaseTransport):
    """
    A way to the service on which requests fail, one after the other, with these faults: a status; `before`, it does not arrive;
    `after`, its answer is lost; `amid`, its answer breaks off after some bytes.
    """

    def __init__(self, *faults: int | str | None) -> None:
        self.faults = deque(faults)
        self.requests: list[httpx.Request] = []
        self._road = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, int):
            return _refusal(fault)
        if fault == "before":
            raise httpx.ConnectError("cut")
        response = self._road.handle_request(request)
        if fault == "after":
            response.read()
            raise httpx.RemoteProtocolError("cut")
        if fault == "amid":
            return httpx.Response(200, headers=response.headers, stream=_Broken(response, 1))
        return response

    def close(self) -> None:
        self._road.close()


class _Broken(httpx.SyncByteStream):
    """The first chunks of an answer, after which the connection is lost."""

    def __init__(self, response: httpx.Response, chunks: int) -> None:
        self._response, self._chunks = response, chunks

    def __iter__(self) -> Iterator[bytes]:
        for number, chunk in enumerate(self._response.stream):
            if number == self._chunks:
                break
            yield chunk
        raise httpx.ReadError("cut")

    def close(self) -> None:
        self._response.close()


class AsyncBadRoad(httpx.AsyncBaseTransport):
    """A `BadRoad` for the asynchronous client."""

    def __init__(self, *faults: int | str | None) -> None:
        self.faults = deque(faults)
        self.requests: list[httpx.Request] = []
        self._road = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, int):
            return _refusal(fault)
        if fault == "before":
            raise httpx.ConnectError("cut")
        response = await self._road.handle_async_request(request)
        if fault == "after":
            await response.aread()
            raise httpx.RemoteProtocolError("cut")
        if fault == "amid":
            return httpx.Response(200, headers=response.headers, stream=_AsyncBroken(response))
        return response

    async def aclose(self) -> None:
        await self._road.aclose()


class _AsyncBroken(httpx.AsyncByteStream):
    """The first chunk of an answer, after which the connection is lost."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.stream:
            yield chunk
            break
        raise httpx.ReadError("cut")

    async def aclose(self) -> None:
        await self._response.aclose()


def _refusal(status: int) -> httpx.Response:
    body = {"error": "Not now.", "code": "unavailable", "requestId": "-"}
    return httpx.Response(status, json=body, headers={"retry-after": "1"})


@pytest.fixture
def on_bad_road() -> Iterator[Callable[..., tuple[Chartledger, BadRoad]]]:
    opened: list[Chartledger] = []

    def open_road(*faults: int | str | None, **options: Any) -> tuple[Chartledger, BadRoad]:
        road = BadRoad(*faults)
        client = Chartledger(url=URL, api_key=KEY, transport=road, **options)
        opened.append(client)
        return client, road

    yield open_road
    for client in opened:
        client.close()


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], Any]:
    """What a function gives, once it is truthy."""

    def wait(condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + 60
        for _ in count():
            found = condition()
            if found:
                return found
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.05)

    return wait
