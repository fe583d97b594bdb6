from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Literal, Union

import httpx

from . import types

Code = Union[types.ErrorCode, Literal["no_answer", "invalid_signature", "unknown"]]

_RETRIED_STATUSES = (408, 429)
_RETRIED_CODES = ("no_answer", "idempotency_key_in_use")


class ChartledgerError(Exception):
    """What went wrong with a call."""

    code: Code
    """What went wrong, for programs. Beside the service's own codes: `no_answer`, none came; `invalid_signature`, a webhook's
    message is not to be trusted."""
    status: int | None
    """The status of the answer; None when there was none."""
    request_id: str | None
    """Quote it to the operators of the service; the text of the error ends with it."""
    headers: httpx.Headers | None
    """Those of the answer; None when there was none."""
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
        headers: httpx.Headers | None = None,
        unreadable: Sequence[str] = (),
    ) -> None:
        body = body or {}
        request_id = body.get("requestId", headers and headers.get("request-id"))
        super().__init__(f"{message} (request {request_id})" if request_id else message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.headers = headers
        self.details = body.get("details", [])
        self.retry_after = _seconds_in(headers.get("retry-after", "")) if headers is not None else None
        self.version = body.get("version")
        self.unreadable = unreadable
        self.retryable = (
            (status or 0) >= 500 or status in _RETRIED_STATUSES or code in _RETRIED_CODES
        )

    @classmethod
    def of(cls, response: httpx.Response) -> ChartledgerError:
        """The error of an answer that was read."""
        try:
            body = response.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            body = {}
        body = {**body, **_refusal_in(body)}
        return cls(
            body.get("error", f"The service answered {response.status_code}."),
            code=body.get("code", "unknown"),
            status=response.status_code,
            body=body,
            headers=response.headers,
        )

    @classmethod
    def of_list(cls, count: int, ids: Sequence[str] = ()) -> ChartledgerError:
        """The error of a list some of whose items the service cannot read; a snapshot has no `ids` of them."""
        message = f"The service cannot read {count} of the items of the list; the others were returned."
        return cls(message, code="unreadable", unreadable=ids)

    @classmethod
    def no_answer(cls) -> ChartledgerError:
        """The error of a request that was sent, and to which no whole answer came."""
        return cls("No answer came from the service.", code="no_answer")


def _refusal_in(body: Mapping[str, Any]) -> dict[str, Any]:
    """What an `OperationOutcome` of FHIR says is wrong, as other refusals of the service do; nothing of what is none."""
    if body.get("resourceType") != "OperationOutcome":
        return {}
    details = [
        {"field": ",".join(issue.get("expression", [])), "message": issue.get("diagnostics", "")}
        for issue in body.get("issue", [])
    ]
    return {"error": " ".join(detail["message"] for detail in details), "details": details}


def _seconds_in(retry_after: str) -> float | None:
    """The seconds that a `Retry-After` asks to wait, which may be a number or a date (RFC 9110, section 10.2.3)."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
