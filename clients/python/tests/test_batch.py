import json

import httpx
import pytest

from chartledger_client import Chartledger, ChartledgerError


def payer(id: str, name: str = "Aetna") -> dict:
    return {"kind": "payer", "record": {"id": id, "name": name}}


def test_each_line_has_its_result_in_order_through_several_requests(on_bad_road, fresh, appended):
    client, road = on_bad_road()
    ids = [fresh("payer") for _ in range(5)]
    taken = []

    def records():
        for id in ids:
            taken.append(id)
            yield payer(id, "Aet\u2028na")

    results = client.batch(records(), chunk_lines=2)
    first = next(results)
    assert (first["line"], first["id"], first["status"], first["outcome"]) == (1, ids[0], 200, "created")
    assert len(taken) == 3
    assert [(result["line"], result["id"]) for result in results] == list(enumerate(ids, 1))[1:]
    assert len(road.requests) == 3
    assert len({request.headers["idempotency-key"] for request in road.requests}) == 3
    assert appended() == [f"upserted payer/{id}" for id in ids]
    assert client.payers.read(ids[0])["record"]["name"] == "Aet\u2028na"


def test_lines_may_refer_to_later_ones_and_a_refused_one_stops_no_other(chartledger, fresh, appended):
    payer_id, patient = fresh("payer"), {"first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    insured = {**patient, "id": fresh("patient"), "primary_insurance": {"payer_id": payer_id}}
    lines = [{"kind": "patient", "record": insured}, payer(fresh("payer"), ""), payer(payer_id)]
    results = list(chartledger.batch(lines))
    assert [result["status"] for result in results] == [200, 400, 200]
    assert (results[1]["code"], results[1]["details"][0]["field"]) == ("validation_failed", "name")
    assert sorted(appended()) == sorted([f"upserted patient/{insured['id']}", f"upserted payer/{payer_id}"])


def test_a_dry_run_writes_nothing(chartledger, fresh, appended):
    assert [result["dry_run"] for result in chartledger.batch([payer(fresh("payer"))], dry_run=True)] == [
        True
    ]
    assert appended() == []


@pytest.mark.parametrize("fault", ["after", "amid", 503])
def test_a_batch_whose_answer_is_lost_is_sent_again_and_stores_each_record_once(
    on_bad_road, fresh, appended, fault
):
    client, road = on_bad_road(fault)
    ids = [fresh("payer") for _ in range(3)]
    assert [result["version"] for result in client.batch([payer(id) for id in ids])] == [1, 1, 1]
    assert len({request.headers["idempotency-key"] for request in road.requests}) == 1
    assert sorted(appended()) == sorted(f"upserted payer/{id}" for id in ids)


def test_no_records_are_no_request(on_bad_road, appended):
    client, road = on_bad_road()
    assert list(client.batch([])) == []
    assert road.requests == []
    assert appended() == []


STORED = {"status": 200, "outcome": "created", "version": 1, "warnings": []}
AWAY = {"status": 503, "error": "Not now.", "code": "unavailable", "retryable": True}


def answering(*answers: list) -> tuple:
    """A client of a service that answers each request's lines so; with the ids that each request held."""
    requests: list = []

    def answer(request: httpx.Request) -> httpx.Response:
        ids = [json.loads(line)["record"]["id"] for line in request.content.splitlines()]
        requests.append(ids)
        results = [
            {"line": line, "kind": "payer", "id": id, **result}
            for line, (id, result) in enumerate(zip(ids, answers[len(requests) - 1]), 1)
        ]
        return httpx.Response(200, text="\n".join(json.dumps(line) for line in [*results, {"summary": {}}]))

    transport = httpx.MockTransport(answer)
    return Chartledger(url="http://127.0.0.1", api_key="clk_", transport=transport, max_retries=2), requests


def test_lines_that_may_be_accepted_later_are_sent_again_alone_and_told_of_in_their_place():
    client, requests = answering([STORED, AWAY, AWAY, STORED], [STORED, AWAY], [STORED])
    results = list(client.batch([payer(id) for id in "abcd"]))
    assert requests == [["a", "b", "c", "d"], ["b", "c"], ["c"]]
    assert [(result["line"], result["id"], result["status"]) for result in results] == [
        (line, id, 200) for line, id in enumerate("abcd", 1)
    ]


def test_an_earlier_version_is_not_stored_after_a_later_one():
    client, requests = answering([AWAY, STORED])
    assert [result["status"] for result in client.batch([payer("a"), payer("a")])] == [503, 200]
    assert len(requests) == 1


def test_an_answer_that_lacks_lines_is_none():
    client, requests = answering([STORED], [STORED], [STORED])
    with pytest.raises(ChartledgerError) as caught:
        list(client.batch([payer("a"), payer("b")]))
    assert (caught.value.code, len(requests)) == ("no_answer", 3)
