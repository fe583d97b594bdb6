# Written by `npm run docs` from `../_async`: change that.
from __future__ import annotations

from collections.abc import Iterator, Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

import time
import httpx

from .._error import ChartledgerError
from .._http import answered, backoff_seconds


@dataclass(frozen=True)
class Connection:
    """Sends requests to a service with a key."""

    http: httpx.Client
    max_retries: int
    max_wait_seconds: float

    def call(self, method: str, path: str, *, idempotency_key: str | None = None, **parts: Any) -> Any:
        """
        Carries out a request, again with the same `Idempotency-Key` where that may help. `parts` are those of `attempt`. Raises
        `ChartledgerError`.
        """
        key = idempotency_key or str(uuid4())
        for tries in count(1):
            try:
                return self.attempt(method, path, idempotency_key=key, **parts)
            except ChartledgerError as error:
                if not (error.retryable and self.wait_to_retry(tries, error.retry_after)):
                    raise
        raise AssertionError

    def wait_to_retry(self, tries: int, retry_after: float | None) -> bool:
        """
        Waits after try number `tries`, for `retry_after` seconds at least; false, at once, when it was the last one or that
        would be too long.
        """
        seconds = max(retry_after or 0.0, backoff_seconds(tries))
        if tries > self.max_retries or seconds > self.max_wait_seconds:
            return False
        time.sleep(seconds)
        return True

    def attempt(
        self,
        method: str,
        path: str,
        *,
        idempotency_key: str | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        stream: bool = False,
        read: Callable[[httpx.Response], Any] = httpx.Response.json,
        **parts: Any,
    ) -> Any:
        """
        Carries out a request once, of further `parts` as `httpx.Client.build_request` takes them; gives what `read` makes of the
        answer, or with `stream` the answer itself, to be read and closed. Raises as `call` does.
        """
        sent = dict(headers or {})
        if method != "GET" and idempotency_key is not None:
            sent["Idempotency-Key"] = idempotency_key
        query = {name: value for name, value in (params or {}).items() if value is not None}
        request = self.http.build_request(method, path, params=query, headers=sent, **parts)
        with answered():
            response = self.http.send(request, stream=stream)
            if response.is_success:
                return response if stream else read(response)
            try:
                response.read()
            finally:
                response.close()
        raise ChartledgerError.of(response)


def read_parts(response: httpx.Response, end: bytes) -> Iterator[bytes]:
    """
    The parts of a body that each end with `end`; what follows the last one is not given. httpx also ends lines with characters
    that a value may hold. Raises `ChartledgerError` with the code `no_answer`.
    """
    rest = b""
    with answered():
        for chunk in response.iter_bytes():
            *parts, rest = (rest + chunk).split(end)
            for part in parts:
                yield part
