from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Union

from typing_extensions import TypedDict

from .types import WriteQuery

Version = Union[int, Literal["*"]]


class WriteOptions(TypedDict, total=False):
    """When something is written, and as which request."""

    if_match: Version
    """Write only if this is the current version; `*`: only if there is one. Else the error has the code `version_conflict`."""
    if_none_match: Literal["*"]
    """Write only if there is none yet. Else the error has the code `version_conflict`."""
    idempotency_key: str
    """Names the request, so that it is carried out once, however often it is sent. Default: a new one for each call."""


class PatchOptions(WriteQuery, total=False):
    """When a record that is there is changed, and as which request."""

    if_match: Version
    """Write only if this is the current version; `*`: only if there is one. Else the error has the code `version_conflict`."""
    idempotency_key: str
    """Names the request, so that it is carried out once, however often it is sent. Default: a new one for each call."""


class UpsertOptions(PatchOptions, total=False):
    """When a record is written, and as which request."""

    if_none_match: Literal["*"]
    """Write only if there is none yet. Else the error has the code `version_conflict`."""


class RemoveOptions(TypedDict, total=False):
    """When a document is removed, and as which request."""

    if_match: Version
    """Remove only if this is the current version; `*`: only if there is one. Else the error has the code `version_conflict`."""
    idempotency_key: str
    """Names the request, so that it is carried out once, however often it is sent. Default: a new one for each call."""


def write_parts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Where the options of a write go: into the query, the headers, or how the call is made."""
    query = dict(options)
    if_match, if_none_match = query.pop("if_match", None), query.pop("if_none_match", None)
    headers = {}
    if if_match is not None:
        headers["If-Match"] = "*" if if_match == "*" else f'"{if_match}"'
    if if_none_match is not None:
        headers["If-None-Match"] = if_none_match
    return {"idempotency_key": query.pop("idempotency_key", None), "headers": headers, "params": query}
