from __future__ import annotations

import json
from typing import Generic, TypeVar

from typing_extensions import Unpack

from .. import types
from .._http import path_of
from .._writing import PatchOptions, UpsertOptions, write_parts
from ._connection import AsyncConnection
from ._paging import AsyncList

Record = TypeVar("Record")
Patch = TypeVar("Patch")
View = TypeVar("View")


class AsyncRecords(Generic[Record, Patch, View]):
    """The records of one kind."""

    def __init__(self, connection: AsyncConnection, plural: str) -> None:
        self._connection = connection
        self._plural = plural

    def _path(self, *parts: str) -> str:
        return path_of("integration", self._plural, *parts)

    async def upsert(self, record: Record, **options: Unpack[UpsertOptions]) -> types.Written:
        """Creates a record, or updates the one of its id: a field that is left out keeps its value, and None clears it."""
        return await self._connection.call("POST", self._path(), json=record, **write_parts(options))

    async def patch(self, id: str, changes: Patch, **options: Unpack[PatchOptions]) -> types.Written:
        """
        Changes fields of a record that is there; objects are merged, and None clears a field. Raises `ChartledgerError` with
        the code `not_found`.
        """
        parts = write_parts(options)
        parts["headers"]["Content-Type"] = "application/merge-patch+json"
        return await self._connection.call("PATCH", self._path(id), content=json.dumps(changes), **parts)

    async def read(self, id: str, **query: Unpack[types.ReadQuery]) -> View:
        """
        The record of an id: as it is, or as it was. Raises `ChartledgerError` with the code `not_found`, or `gone` when it
        was erased.
        """
        return await self._connection.call("GET", self._path(id), params=query)

    def list(self, **query: Unpack[types.ListQuery]) -> AsyncList[View]:
        """
        All records, in the order of their creation unless sorted; `limit` is how many are fetched at once. Raises
        `ChartledgerError` at the end with the code `unreadable` where the service could not read some of them.
        """
        return AsyncList(self._connection, self._path(), query)

    def history(self, id: str, *, limit: int | None = None) -> AsyncList[types.RecordVersion]:
        """
        Every version of a record, newest first: who sent it, and what it changed. Raises `ChartledgerError` with the code
        `not_found`.
        """
        return AsyncList(self._connection, self._path(id, "history"), {"limit": limit})


class AsyncEncounters(AsyncRecords[types.Encounter, types.EncounterPatch, types.EncounterView]):
    """The encounters, whose lists have more filters, and of which the service also says whether they can be billed."""

    def list(self, **query: Unpack[types.EncounterListQuery]) -> AsyncList[types.EncounterView]:
        """
        All encounters, in the order of their creation unless sorted; `limit` is how many are fetched at once. Raises
        `ChartledgerError` at the end with the code `unreadable` where the service could not read some of them.
        """
        return AsyncList(self._connection, self._path(), query)

    async def readiness(self, id: str, *, as_of: str | None = None) -> types.EncounterReadiness:
        """
        Whether an encounter can be billed, or could be at a moment; what is in the way, since when, and by which write. Raises
        `ChartledgerError` with the code `not_found`, or `gone` when it was erased.
        """
        return await self._connection.call("GET", self._path(id, "readiness"), params={"as_of": as_of})

    def worklist(
        self, *, from_: str | None = None, **query: Unpack[types.WorklistQuery]
    ) -> AsyncList[types.WorklistItem]:
        """
        All encounters with what is in the way of billing them, or those that are asked for: from the day of service `from_` on.
        `limit` is how many are fetched at once.
        """
        return AsyncList(self._connection, "/integration/readiness", {**query, "from": from_})
