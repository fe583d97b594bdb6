import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from importlib.metadata import version

import httpx
import pytest

from chartledger_client import Chartledger, ChartledgerError


@pytest.mark.parametrize(
    "faults", [["after"], ["amid"], ["before"], [500], [503], [429], ["after", 503]], ids=lambda faults: f"{faults}"
)
def test_an_upsert_is_sent_again_with_its_key_and_appends_one_event(on_bad_road, fresh, appended, faults):
    client, road = on_bad_road(*faults)
    id = fresh("payer")
    assert client.payers.upsert({"id": id, "name": "Aetna"})["version"] == 1
    assert appended() == [f"upserted payer/{id}"]
    assert len(road.requests) == len(faults) + 1
    keys = {request.headers["idempotency-key"] for request in road.requests}
    assert [len(key) for key in keys] == [36]


def test_each_call_has_a_key_of_its_own_and_reads_have_none(on_bad_road, fresh, appended):
    client, road = on_bad_road()
    payer = {"id": fresh("payer"), "name": "Aetna"}
    client.payers.upsert(payer)
    client.payers.upsert(payer)
    client.payers.read(payer["id"])
    keys = [request.headers.get("idempotency-key") for request in road.requests]
    assert len(set(keys)) == 3 and keys[2] is None
    assert len(appended()) == 2
    agents = {request.headers["user-agent"] for request in road.requests}
    assert agents == {f"chartledger-client-python/{version('chartledger-client')}"}


def test_tries_are_bounded_and_what_is_wrong_with_a_request_is_not_tried_again(on_bad_road, fresh, appended):
    client, road = on_bad_road(*["before"] * 4, max_retries=2)
    with pytest.raises(ChartledgerError) as caught:
        client.payers.upsert({"id": fresh("payer"), "name": "Aetna"})
    assert (caught.value.code, caught.value.status, caught.value.retryable) == ("no_answer", None, True)
    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    assert len(road.requests) == 3
    client, road = on_bad_road()
    with pytest.raises(ChartledgerError):
        client.payers.upsert({"id": "", "name": ""})
    assert len(road.requests) == 1
    assert appended() == []


def test_the_service_is_not_asked_before_it_wants_to_be(on_bad_road, fresh, appended, monkeypatch):
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    client, _ = on_bad_road(429)
    client.payers.upsert({"id": fresh("payer"), "name": "Aetna"})
    assert waits == [1.0]
    assert len(appended()) == 1
    client, road = on_bad_road(429, max_wait_seconds=0.9)
    with pytest.raises(ChartledgerError) as caught:
        client.payers.upsert({"id": fresh("payer"), "name": "Aetna"})
    assert (caught.value.status, caught.value.retry_after, len(road.requests)) == (429, 1.0, 1)
    assert appended() == []


def test_what_answers_but_is_not_the_service_is_no_answer():
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text="<p>Welcome</p>"))
    with Chartledger(url="http://127.0.0.1", api_key="clk_", transport=transport, max_retries=0) as client:
        with pytest.raises(ChartledgerError) as caught:
            client.payers.read("1")
    assert caught.value.code == "no_answer"


def test_retry_after_may_be_a_date():
    def retry_after(value: str) -> float | None:
        transport = httpx.MockTransport(lambda _: httpx.Response(503, headers={"retry-after": value}))
        with Chartledger(url="http://127.0.0.1", api_key="clk_", transport=transport, max_retries=0) as client:
            with pytest.raises(ChartledgerError) as caught:
                client.payers.read("1")
        return caught.value.retry_after

    in_ten_minutes = datetime.now(timezone.utc) + timedelta(minutes=10)
    assert 300 < retry_after(format_datetime(in_ten_minutes, usegmt=True)) <= 600
    assert retry_after("Fri, 13 Mar 2026 09:30:00 GMT") == 0
    assert retry_after("later") is None
