"""Client of the Chartledger integration service."""

from ._chartledger import Chartledger
from ._error import ChartledgerError
from ._events import Checkpoint
from ._webhooks import verify_webhook
from .types import BatchLine, BatchResult, Event, EventType, Kind, WebhookMessage

__all__ = [
    "BatchLine",
    "BatchResult",
    "Chartledger",
    "ChartledgerError",
    "Checkpoint",
    "Event",
    "EventType",
    "Kind",
    "WebhookMessage",
    "verify_webhook",
]
