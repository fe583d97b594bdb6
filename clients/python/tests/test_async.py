from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import httpx
import pytest
from conftest import KEY, URL

from chartledger_client import AsyncChartledger, ChartledgerError


class Positions:
    """A checkpoint in memory."""

    def __init__(self, *saved: str) -> None:
        self.saved = list(saved)

    async def load(self) -> str | None:
        return self.saved[-1] if self.saved else None

    async def save(self, position: str) -> None:
        self.saved.append(position)


def test_the_asynchronous_client_has_the_calls_of_the_other(fresh, appended, tmp_path):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    payers, encounter, name = [fresh("payer") for _ in range(3)], fresh("encounter"), fresh("Quill")
    report = tmp_path / "report.pdf"
    report.write_bytes(b"%PDF-1.7\n%%EOF\n")

    async def lines() -> AsyncIterator[dict]:
        for id in payers:
            yield {"kind": "payer", "record": {"id": id, "name": name}}

    async def calls() -> None:
        async with AsyncChartledger(url=URL, api_key=KEY) as client:
            assert (await client.patients.upsert(patient))["version"] == 1
            assert (await client.patients.patch(patient["id"], {"city": "Omaha"}))["version"] == 2
            assert (await client.patients.read(patient["id"]))["record"]["city"] == "Omaha"
            assert [version["version"] async for version in client.patients.history(patient["id"])] == [2, 1]
            assert [result["status"] async for result in client.batch(lines(), chunk_lines=2)] == [200] * 3
            assert [found["id"] async for found in client.search(name)] == payers[::-1]
            pages = [page async for page in client.search(name, limit=2).pages()]
            assert [len(page.items) for page in pages] == [2, 1]
            await client.encounters.upsert({"id": encounter, "patient_id": patient["id"]})
            assert (await client.encounters.readiness(encounter))["state"] == "not_completed"
            await client.documents.upload(
                encounter, str(report), document_id="1", category="lab_results"
            )
            file = [chunk async for chunk in client.documents.download(encounter, "1")]
            assert b"".join(file) == report.read_bytes()
            snapshot = await client.snapshot("patient")
            assert f"patient/{patient['id']}" in [line["subject"] async for line in snapshot]
            await client.patients.patch(patient["id"], {"city": "Lincoln"})
            checkpoint, versions = Positions(snapshot.position), []
            events = client.events(kinds=["patient"], checkpoint=checkpoint)
            async for event in events:
                versions.append(event["data"]["version"])
                if len(versions) == 2:
                    break
                await client.patients.patch(patient["id"], {"city": "Kearney"})
            await events.aclose()
            assert versions == [3, 4]
            assert len(checkpoint.saved) == 2
            with pytest.raises(ChartledgerError) as caught:
                await client.payers.read("none")
            assert caught.value.code == "not_found"
            assert (await client.send("GET", "/events", params={"limit": 1})).headers["Chartledger-Position"]

    anyio.run(calls)
    assert appended() == [
        *[f"upserted patient/{patient['id']}"] * 2,
        *[f"upserted payer/{id}" for id in payers],
        f"upserted encounter/{encounter}",
        f"uploaded document/{encounter}/1",
        *[f"upserted patient/{patient['id']}"] * 2,
    ]


def test_a_call_is_sent_again_with_its_key():
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(503 if len(requests) == 1 else 200, json={"version": 1})

    async def call() -> None:
        transport = httpx.MockTransport(answer)
        async with AsyncChartledger(url="http://127.0.0.1", api_key="clk_", transport=transport) as client:
            assert await client.payers.upsert({"id": "1", "name": "Aetna"}) == {"version": 1}

    anyio.run(call)
    assert len(requests) == 2
    assert len({request.headers["idempotency-key"] for request in requests}) == 1
