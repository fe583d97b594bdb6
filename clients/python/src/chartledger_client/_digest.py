from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def record_digest(record: Mapping[str, Any]) -> str:
    """
    The digest of a record's fields, by which `POST /integration/reconcile` compares it: SHA-256, in hexadecimal, of the canonical
    JSON (RFC 8785) of the fields that are not `None`. Raises `TypeError` for a value that no record has, such as a float.
    """
    return hashlib.sha256(_canonical_json(record).encode()).hexdigest()


def _canonical_json(value: object) -> str:
    if isinstance(value, Mapping):
        # Members are sorted by the UTF-16 code units of their names.
        names = sorted((name for name in value if value[name] is not None), key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_canonical_json(name)}:{_canonical_json(value[name])}" for name in names) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_canonical_json, value)) + "]"
    if value is not None and not isinstance(value, (str, bool, int)):
        raise TypeError(f"a record has no {type(value).__name__}")
    return json.dumps(value, ensure_ascii=False)
