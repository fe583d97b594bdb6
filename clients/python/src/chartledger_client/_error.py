from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

import httpx

from . import types

Code = Union[types.ErrorCode, Literal["no_answer", "invalid_signature", "unknown"]]

_RETRIED_STATUSES = (408, 429, 502, 503, 504)
_RETRIED_CODES = ("no_answer", "idempotency_key_in_use")


class ChartledgerError(Exception):
    """What went wrong with a call."""

    code: Code
    """What went wrong, for programs. Beside the service's own codes: `no_answer`, none came; `invalid_signature`, a webhook's
    message is not to be trusted."""
    status: int | None
    """The status of the answer; None when there was none."""
    request_id: str | None
    """Quote it to the operators of the service."""
    details: Sequence[types.ErrorDetail]
    """The fields at fault."""
    retry_after: float | None
    """Seconds after which the service wants to be asked again."""
    version: int | None
    """With the code `version_conflict`: the current version, if there is one."""
    unreadable: Sequence[str]
    """With the code `unreadable`, of a list: the ids of the items that are missing from it."""
    retryable: bool
    """Whether the same call may succeed later."""

    def __init__(
        self,
        message: str,
        *,
        code: Code,
        status: int | None = None,
        body: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        unreadable: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        body = body or {}
        self.code = code
        self.status = status
        self.request_id = body.get("requestId", request_id)
        self.details = body.get("details", [])
        self.retry_after = retry_after
        self.version = body.get("version")
        self.unreadable = unreadable
        self.retryable = status in _RETRIED_STATUSES or code in _RETRIED_CODES

    @classmethod
    def of(cls, response: httpx.Response) -> ChartledgerError:
        """The error of an answer that was read."""
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            body = {}
        after = response.headers.get("retry-after", "")
        return cls(
            body.get("error", f"The service answered {response.status_code}."),
            code=body.get("code", "unknown"),
            status=response.status_code,
            body=body,
            request_id=response.headers.get("request-id"),
            retry_after=float(after) if after.isdecimal() else None,
        )

    @classmethod
    def of_list(cls, ids: Sequence[str]) -> ChartledgerError:
        """The error of a list some of whose items the service cannot read."""
        message = f"The service cannot read {len(ids)} of the items of the list; the others were returned."
        return cls(message, code="unreadable", unreadable=ids)

    @classmethod
    def no_answer(cls) -> ChartledgerError:
        """The error of a request that was sent, and to which no whole answer came."""
        return cls("No answer came from the service.", code="no_answer")
