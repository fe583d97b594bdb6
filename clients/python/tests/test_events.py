from itertools import islice

import httpx
import pytest

from chartledger_client import Chartledger, ChartledgerError


class Positions:
    """A checkpoint in memory."""

    def __init__(self, *saved: str) -> None:
        self.saved = list(saved)

    def load(self):
        return self.saved[-1] if self.saved else None

    def save(self, position):
        self.saved.append(position)


@pytest.fixture
def payer(chartledger, fresh):
    """A payer with three versions, and the position of the first."""
    id = fresh("payer")
    for city in ("Omaha", "Lin\u2028coln", "Kearney"):
        chartledger.payers.upsert({"id": id, "name": "Aetna", "city": city})
    events = chartledger.events(kinds=["payer"])
    first = next(event for event in events if event["subject"] == f"payer/{id}")
    events.close()
    return id, first["sequence"]


def cities(events):
    return [event["data"]["sent"]["city"] for event in events]


def test_events_come_from_the_position_on_and_as_they_are_recorded(chartledger, payer):
    id, position = payer
    events = chartledger.events(after=position, types=["chartledger.payer.upserted.v1"])
    assert cities(islice(events, 2)) == ["Lin\u2028coln", "Kearney"]
    chartledger.payers.upsert({"id": id, "name": "Aetna", "city": "Elkhorn"})
    later = next(events)
    assert (later["data"]["version"], later["data"]["changed"]) == (4, ["city"])
    events.close()


def test_a_lost_connection_is_made_again_after_the_last_event(on_bad_road, chartledger, payer):
    _, position = payer
    interruptions = []
    client, road = on_bad_road("before", "amid", 503, "amid")
    events = client.events(after=position, kinds=["payer"], on_interruption=interruptions.append)
    assert cities(islice(events, 2)) == ["Lin\u2028coln", "Kearney"]
    events.close()
    assert [error.status for error in interruptions][:1] == [None]
    assert len(road.requests) > 1


def test_a_checkpoint_is_saved_when_the_next_event_is_asked_for(chartledger, payer):
    _, position = payer
    checkpoint = Positions(position)
    events = chartledger.events(after="0", kinds=["payer"], checkpoint=checkpoint)
    second = next(events)
    assert second["data"]["sent"]["city"] == "Lin\u2028coln"
    assert second["sequence"] not in checkpoint.saved
    next(events)
    assert checkpoint.saved[-1] >= second["sequence"]
    events.close()
    again = chartledger.events(kinds=["payer"], checkpoint=checkpoint)
    assert cities(islice(again, 1)) == ["Kearney"]
    again.close()


def test_a_position_without_an_event_is_saved():
    stream = "retry: 2000\n: heartbeat\n: position 0000000000000005\nid: 0000000000000007\ndata: {}\n\n"
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=stream))
    checkpoint = Positions()
    with Chartledger(url="http://127.0.0.1", api_key="clk_", transport=transport) as client:
        events = client.events(checkpoint=checkpoint)
        assert next(events) == {}
        assert checkpoint.saved == ["0000000000000005"]
        events.close()


def test_the_deidentified_view_names_nobody(chartledger, payer):
    events = chartledger.events(view="deidentified", kinds=["payer"])
    assert all("name" not in event["data"]["sent"] for event in islice(events, 3))
    events.close()


def test_events_that_changed_nothing_can_be_left_out(chartledger, payer):
    id, position = payer
    for city in ("Kearney", "Elkhorn"):
        chartledger.payers.upsert({"id": id, "name": "Aetna", "city": city})
    events = chartledger.events(after=position, kinds=["payer"], unchanged="skip")
    assert cities(islice(events, 3)) == ["Lin\u2028coln", "Kearney", "Elkhorn"]
    events.close()


def test_what_connecting_again_does_not_mend_is_an_error(chartledger):
    with Chartledger(url=str(chartledger._connection.http.base_url), api_key="clk_none") as stranger:
        with pytest.raises(ChartledgerError) as caught:
            next(stranger.events())
    assert caught.value.status == 401
