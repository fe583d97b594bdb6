from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
from conftest import KEY, URL, AsyncBadRoad

from chartledger_client import AsyncChartledger, ChartledgerError


@asynccontextmanager
async def on_road(
    *faults: int | str, **options: float
) -> AsyncIterator[tuple[AsyncChartledger, AsyncBadRoad]]:
    road = AsyncBadRoad(*faults)
    async with AsyncChartledger(url=URL, api_key=KEY, transport=road, **options) as client:
        yield client, road


def keys_of(road: AsyncBadRoad) -> set[str]:
    return {request.headers["idempotency-key"] for request in road.requests}


@pytest.mark.parametrize(
    "faults", [["after"], ["amid"], ["before"], [500], [429], ["after", 503]], ids=lambda faults: f"{faults}"
)
def test_an_upsert_is_sent_again_with_its_key_and_appends_one_event(fresh, appended, faults):
    id = fresh("payer")

    async def calls() -> None:
        async with on_road(*faults) as (client, road):
            assert (await client.payers.upsert({"id": id, "name": "Aetna"}))["version"] == 1
            assert (len(road.requests), len(keys_of(road))) == (len(faults) + 1, 1)

    anyio.run(calls)
    assert appended() == [f"upserted payer/{id}"]


def test_tries_are_bounded(fresh, appended):
    async def calls() -> None:
        async with on_road(*["before"] * 4, max_retries=2) as (client, road):
            with pytest.raises(ChartledgerError) as caught:
                await client.payers.upsert({"id": fresh("payer"), "name": "Aetna"})
            assert (caught.value.code, len(road.requests)) == ("no_answer", 3)

    anyio.run(calls)
    assert appended() == []


@pytest.mark.parametrize("fault", ["after", "amid", 503])
def test_a_batch_whose_answer_is_lost_is_sent_again_and_stores_each_record_once(fresh, appended, fault):
    lines = [{"kind": "payer", "record": {"id": fresh("payer"), "name": "Aetna"}} for _ in range(3)]

    async def calls() -> None:
        async with on_road(fault) as (client, road):
            assert [result["version"] async for result in client.batch(lines)] == [1, 1, 1]
            assert len(keys_of(road)) == 1

    anyio.run(calls)
    assert sorted(appended()) == sorted(f"upserted payer/{line['record']['id']}" for line in lines)


def test_a_file_is_sent_again_whole_and_one_that_breaks_off_is_no_file(fresh, appended):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    encounter, file = fresh("encounter"), b"%PDF-1.7\n" + b"x" * 2_000_000 + b"\n%%EOF\n"

    async def calls() -> None:
        async with on_road() as (client, _):
            await client.patients.upsert(patient)
            await client.encounters.upsert({"id": encounter, "patient_id": patient["id"]})
        async with on_road("after", 503) as (client, road):
            named = {"filename": "a.pdf", "document_id": "1", "category": "consent_form"}
            await client.documents.upload(encounter, file, **named)
            assert len(keys_of(road)) == 1
            read = client.documents.download(encounter, "1")
            assert b"".join([chunk async for chunk in read]) == file
        async with on_road("amid") as (client, _):
            with pytest.raises(ChartledgerError) as caught:
                [chunk async for chunk in client.documents.download(encounter, "1")]
            assert caught.value.code == "no_answer"

    anyio.run(calls)
    assert appended()[2:] == [f"uploaded document/{encounter}/1"]


def test_the_event_stream_goes_on_after_the_last_event(fresh, appended):
    id = fresh("payer")
    interruptions: list[ChartledgerError] = []

    async def calls() -> None:
        async with on_road() as (client, _):
            for city in ("Omaha", "Lincoln", "Kearney"):
                await client.payers.upsert({"id": id, "name": "Aetna", "city": city})
            snapshot = await client.snapshot("payer")
            await client.payers.patch(id, {"city": "Elkhorn"})
            await client.payers.patch(id, {"city": "Gretna"})
        async with on_road("before", "amid", 503, "amid") as (client, _):
            versions = []
            events = client.events(
                after=snapshot.position, kinds=["payer"], on_interruption=interruptions.append
            )
            async for event in events:
                versions.append(event["data"]["version"])
                if len(versions) == 2:
                    break
            await events.aclose()
            assert versions == [4, 5]

    anyio.run(calls)
    assert interruptions[0].code == "no_answer"
    assert appended() == [f"upserted payer/{id}"] * 5


@pytest.mark.parametrize("status, tries", [(500, 3), (403, 1)])
def test_what_connecting_again_does_not_mend_is_an_error(status, tries):
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(status, json={"error": "No.", "code": "internal"})

    async def call(client: AsyncChartledger) -> None:
        async for _ in client.events():
            raise AssertionError

    anyio.run(_refused, call, answer, status)
    assert len(requests) == tries


async def _refused(
    call: Callable[[AsyncChartledger], Awaitable[None]],
    answer: Callable[[httpx.Request], httpx.Response],
    status: int,
) -> None:
    transport = httpx.MockTransport(answer)
    options = {"transport": transport, "max_retries": 2}
    async with AsyncChartledger(url="http://127.0.0.1", api_key="clk_", **options) as client:
        with pytest.raises(ChartledgerError) as caught:
            await call(client)
        assert caught.value.status == status
