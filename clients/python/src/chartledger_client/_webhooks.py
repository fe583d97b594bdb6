from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from . import types
from ._error import ChartledgerError


class Headers(Protocol):
    """Those of a request, as any framework has them."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Their names, in any case, and values."""


def verify_webhook(
    *,
    secret: str | Sequence[str],
    headers: Headers,
    body: bytes | str,
    tolerance_seconds: float = 300,
) -> types.WebhookMessage:
    """
    The message of a request to a webhook's endpoint, whose signature (Standard Webhooks) is good and which is not old. `secret` is
    that of the webhook (`whsec_…`), during a rotation perhaps both; `body` is as it came: the signature covers its bytes. Raises
    `ChartledgerError` with the code `invalid_signature`, `ValueError` for what is no secret of a webhook, and `TypeError` for a
    body that is parsed. A message may come more than once: `webhook-id` is the same each time.
    """
    if not isinstance(body, (bytes, bytearray, memoryview, str)):
        raise TypeError("body is parsed, and the signature covers its bytes: pass the raw body")
    keys = [_decode_secret(one) for one in ([secret] if isinstance(secret, str) else secret)]
    sent = {name.lower(): value for name, value in headers.items()}
    id, timestamp, signatures = (
        _header(sent, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise _refusal("The header webhook-timestamp is no time.")
    if abs(time.time() - int(timestamp)) > tolerance_seconds:
        raise _refusal("The message was sent too long ago, or in the future.")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{id}.{timestamp}.".encode() + content
    expected = [b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]
    for signature in signatures.split(" "):
        for good in expected:
            if hmac.compare_digest(signature.encode(), good):
                message: types.WebhookMessage = json.loads(content)
                return message
    raise _refusal("No signature of the message is of this secret.")


def _refusal(message: str) -> ChartledgerError:
    return ChartledgerError(message, code="invalid_signature")


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise _refusal(f"The header {name} is missing.")
    return value


def _decode_secret(secret: str) -> bytes:
    try:
        encoded = secret.removeprefix("whsec_").rstrip("=")
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("secret is not that of a webhook")
    return key
