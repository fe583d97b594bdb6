"""Client of the Chartledger integration service."""

from ._async._chartledger import AsyncChartledger
from ._async._events import AsyncCheckpoint
from ._digest import record_digest
from ._error import ChartledgerError
from ._sync._chartledger import Chartledger
from ._sync._events import Checkpoint
from ._webhooks import verify_webhook
from .types import BatchLine, BatchResult, Event, EventType, Kind, WebhookMessage

__all__ = [
    "AsyncChartledger",
    "AsyncCheckpoint",
    "BatchLine",
    "BatchResult",
    "Chartledger",
    "ChartledgerError",
    "Checkpoint",
    "Event",
    "EventType",
    "Kind",
    "WebhookMessage",
    "record_digest",
    "verify_webhook",
]
