# Written by `npm run docs` from `../_async`: change that.
from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, overload

import httpx
from typing_extensions import Self, TypedDict, Unpack

from .. import types
from .._http import USER_AGENT, Lines
from ._batch import send_batch
from ._connection import Connection
from ._documents import Documents
from ._events import EventsOptions, follow_events
from ._paging import List
from ._records import Encounters, Records
from ._snapshot import Snapshot, read_snapshot


class RequestParts(TypedDict, total=False):
    """What a request consists of."""

    params: Mapping[str, Any] | None
    json: object
    """The body, as a value that JSON can have."""
    content: str | bytes
    """The body as it is sent; `headers` has its type."""
    headers: Mapping[str, str]
    idempotency_key: str | None
    """Names the request, so that it is carried out once, however often it is sent. Default: a new one for each call."""


class Chartledger:
    """
    A workspace of a Chartledger service, by one of its API keys; a context manager, or to be closed. Calls raise
    `ChartledgerError`. Those that get no response, or one that may pass (408, 429, 5xx), are sent again with the same
    `Idempotency-Key`, so that they are carried out once.
    """

    payers: Records[types.Payer, types.PayerPatch, types.PayerView]
    patients: Records[types.Patient, types.PatientPatch, types.PatientView]
    providers: Records[types.Provider, types.ProviderPatch, types.ProviderView]
    facilities: Records[types.Facility, types.FacilityPatch, types.FacilityView]
    encounters: Encounters
    documents: Documents

    def __init__(
        self,
        *,
        url: str,
        api_key: str,
        max_retries: int = 5,
        max_wait_seconds: float = 60,
        timeout_seconds: float = 60,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """
        `url` is where the service is, such as `https://chartledger.example.com`. A request is sent again at most `max_retries`
        times, and waits at most `max_wait_seconds` before each; when the service asks for more, the call fails. It fails, too,
        when nothing comes for `timeout_seconds`. `transport` is by default that of httpx. Raises `ValueError` when the URL is
        none, or the key cannot be one.
        """
        if not re.match(r"https?://[^/]", url):
            raise ValueError("url is not that of a service")
        if not (api_key.isascii() and api_key.isprintable() and api_key):
            raise ValueError("api_key cannot be one")
        http = httpx.Client(
            base_url=url,
            headers={"x-api-key": api_key, "user-agent": USER_AGENT},
            timeout=timeout_seconds,
            transport=transport,
        )
        self._connection = Connection(http, max_retries, max_wait_seconds)
        self.payers = Records(self._connection, "payers")
        self.patients = Records(self._connection, "patients")
        self.providers = Records(self._connection, "providers")
        self.facilities = Records(self._connection, "facilities")
        self.encounters = Encounters(self._connection, "encounters")
        self.documents = Documents(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections."""
        self._connection.http.close()

    def batch(
        self,
        records: Lines,
        *,
        chunk_lines: int = 1_000,
        **query: Unpack[types.BatchQuery],
    ) -> Iterator[types.BatchResult]:
        """
        Upserts many records of all kinds, in any order, and yields what became of each, in the order in which they were sent. They
        go in requests of `chunk_lines`; the next ones are taken when those results have been. A refused line stops no other, and
        those that may be accepted later are sent again. Raises `ChartledgerError` when a request fails as a whole; all lines
        before it have had their results.
        """
        return send_batch(self._connection, records, chunk_lines, query)

    def search(self, q: str, **query: Unpack[types.SearchQuery]) -> List[types.Found]:
        """
        Records and documents that hold every word of `q`: names, dates of birth, ids and numbers; what fits best first. `limit` is
        how many are fetched at once.
        """
        return List(self._connection, "/integration/search", body={"q": q, **query})

    @overload
    def events(
        self, *, view: Literal["full"] | None = None, **options: Unpack[EventsOptions]
    ) -> Generator[types.Event, None, None]: ...

    @overload
    def events(
        self, *, view: Literal["deidentified"], **options: Unpack[EventsOptions]
    ) -> Generator[types.DeidentifiedEvent, None, None]: ...

    def events(
        self, *, view: Literal["full", "deidentified"] | None = None, **options: Unpack[EventsOptions]
    ) -> Generator[Any, None, None]:
        """
        The events of the workspace and each further one as it is recorded, for as long as the caller stays: a connection that is
        lost is made again from the last position. Raises what connecting again does not mend, such as a deactivated key, and
        what the checkpoint raises. `close` of what it gives ends the connection.
        """
        return follow_events(self._connection, view, options)

    def snapshot(
        self,
        kind: types.Kind,
        *,
        view: Literal["full", "deidentified"] | None = None,
        as_of: str | None = None,
    ) -> Snapshot:
        """Every record of a kind, now or as of a time, and the position after which `events` continues."""
        return read_snapshot(self._connection, kind, view, as_of)

    def request(self, method: str, path: str, **parts: Unpack[RequestParts]) -> Any:
        """Any other request of the service that is answered with JSON: `request("GET", "/integration/webhooks")`."""
        return self._connection.call(method, path, **parts)

    def send(self, method: str, path: str, **parts: Unpack[RequestParts]) -> httpx.Response:
        """
        As `request`, and gives the whole response, of any type: its `headers`, and its body as `text` or `content`, once it was
        read.
        """
        return self._connection.call(method, path, read=lambda response: response, **parts)
