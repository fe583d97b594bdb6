import json

import httpx
import pytest

from chartledger_client import Chartledger, ChartledgerError


def test_a_record_of_each_kind_is_stored_and_read_back(chartledger, fresh, appended):
    payer = {"id": fresh("payer"), "name": "Aetna"}
    patient = {
        **{
            "id": fresh("patient"),
            "first_name": "Maria",
            "last_name": "Lopez",
            "date_of_birth": "1984-02-29",
        },
        "primary_insurance": {"payer_id": payer["id"]},
    }
    provider = {"id": fresh("provider"), "first_name": "Ada", "last_name": "Nguyen"}
    facility = {"id": fresh("facility"), "name": "Elm Street Clinic"}
    encounter = {
        **{"id": fresh("encounter"), "patient_id": patient["id"]},
        **{"provider_id": provider["id"], "facility_id": facility["id"], "is_completed": True},
    }
    written = chartledger.payers.upsert(payer)
    assert (written["version"], written["outcome"], written["warnings"]) == (1, "created", [])
    chartledger.patients.upsert(patient)
    chartledger.providers.upsert(provider)
    chartledger.facilities.upsert(facility)
    chartledger.encounters.upsert(encounter)
    records = {
        "payer": payer,
        "patient": patient,
        "provider": provider,
        "facility": facility,
        "encounter": encounter,
    }
    assert appended() == [f"upserted {kind}/{record['id']}" for kind, record in records.items()]
    plurals = ("payers", "patients", "providers", "facilities", "encounters")
    for plural, record in zip(plurals, records.values()):
        read = getattr(chartledger, plural).read(record["id"])["record"]
        assert {field: read[field] for field in record} == record


def test_ids_may_hold_any_character(chartledger, fresh):
    id = fresh("a/b?c#d%2Fé\u2028")
    chartledger.payers.upsert({"id": id, "name": "Aetna"})
    assert chartledger.payers.read(id)["id"] == id


@pytest.mark.parametrize("id", ["", ".", ".."])
def test_an_id_that_no_path_can_hold_is_refused_before_something_else_is_read(chartledger, id):
    for call in (chartledger.payers.read, chartledger.payers.history, chartledger.encounters.readiness):
        with pytest.raises(ValueError):
            call(id)
    with pytest.raises(ValueError):
        chartledger.documents.remove(id, "document-1")


def test_a_dry_run_writes_nothing(chartledger, fresh, appended):
    written = chartledger.payers.upsert({"id": fresh("payer"), "name": "Aetna"}, dry_run=True)
    assert (written["dry_run"], written["outcome"]) == (True, "created")
    assert appended() == []


def test_a_patch_changes_what_it_names_of_a_record_that_is_there(chartledger, fresh, appended):
    id = fresh("payer")
    chartledger.payers.upsert({"id": id, "name": "Aetna", "city": "Omaha"})
    assert chartledger.payers.patch(id, {"city": None, "fax": "1"}, if_match=1)["version"] == 2
    with pytest.raises(ChartledgerError) as caught:
        chartledger.payers.patch(fresh("payer"), {"city": "Omaha"})
    assert caught.value.code == "not_found"
    assert appended() == [f"upserted payer/{id}"] * 2
    record = chartledger.payers.read(id)["record"]
    assert (record.get("city"), record["fax"], record["name"]) == (None, "1", "Aetna")


def test_an_error_tells_code_status_request_id_and_the_fields_at_fault(chartledger, fresh, appended):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    with pytest.raises(ChartledgerError) as caught:
        chartledger.patients.upsert({**patient, "state": "Nebraska"})
    invalid = caught.value
    assert (invalid.code, invalid.status, invalid.retryable) == ("validation_failed", 400, False)
    assert [detail["field"] for detail in invalid.details] == ["state"]
    assert len(invalid.request_id) == 36
    assert "state" in str(invalid)
    assert str(invalid).endswith(f"(request {invalid.request_id})")
    assert invalid.headers["request-id"] == invalid.request_id
    with pytest.raises(ChartledgerError) as caught:
        chartledger.patients.upsert({**patient, "primary_insurance": {"payer_id": "none"}})
    assert caught.value.code == "reference_not_found"
    assert (caught.value.details[0]["kind"], caught.value.details[0]["id"]) == ("payer", "none")
    with Chartledger(url=str(chartledger._connection.http.base_url), api_key="clk_none") as stranger:
        with pytest.raises(ChartledgerError) as caught:
            stranger.payers.read("none")
    assert (caught.value.code, caught.value.status) == ("unauthorized", 401)
    assert appended() == []


def test_conditions_guard_against_the_writes_of_others(chartledger, fresh, appended):
    payer = {"id": fresh("payer"), "name": "Aetna"}
    chartledger.payers.upsert(payer, if_none_match="*")
    assert chartledger.payers.upsert(payer, if_match=1)["version"] == 2
    with pytest.raises(ChartledgerError) as caught:
        chartledger.payers.upsert(payer, if_match=1)
    assert (caught.value.code, caught.value.version) == ("version_conflict", 2)
    assert len(appended()) == 2


def test_a_call_with_the_key_of_an_earlier_one_is_not_carried_out_again(chartledger, fresh, appended):
    id = fresh("payer")
    versions = [
        chartledger.payers.upsert({"id": id, "name": "Aetna"}, idempotency_key=id)["version"]
        for _ in range(2)
    ]
    assert versions == [1, 1]
    assert appended() == [f"upserted payer/{id}"]


def test_lists_and_histories_are_read_through_all_their_pages(chartledger, fresh, eventually):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    chartledger.patients.upsert(patient)
    ids = [fresh("encounter") for _ in range(5)]
    for id in ids:
        chartledger.encounters.upsert({"id": id, "patient_id": patient["id"]})
    listed = lambda: [view["id"] for view in chartledger.encounters.list(limit=2, patient_id=patient["id"])]
    eventually(lambda: listed() == ids)
    for city in ("Omaha", "Lincoln"):
        chartledger.patients.patch(patient["id"], {"city": city})
    history = list(chartledger.patients.history(patient["id"], limit=2))
    assert [version["version"] for version in history] == [3, 2, 1]
    assert chartledger.patients.read(patient["id"], version=2)["record"]["city"] == "Omaha"


def test_the_readiness_of_an_encounter_is_told_now_and_as_of_a_moment(chartledger, fresh, appended):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    chartledger.patients.upsert(patient)
    id = fresh("encounter")
    chartledger.encounters.upsert({"id": id, "patient_id": patient["id"]})
    created_at = chartledger.encounters.read(id)["created_at"]
    chartledger.encounters.patch(id, {"is_completed": True})
    assert len(appended()) == 3
    readiness = chartledger.encounters.readiness(id)
    assert (readiness["id"], readiness["version"], readiness["state"]) == (id, 2, "blocked")
    assert "facility_missing" in [finding["rule"] for finding in readiness["findings"]]
    assert chartledger.encounters.readiness(id, as_of=created_at)["as_of"] == created_at
    with pytest.raises(ChartledgerError) as caught:
        chartledger.encounters.readiness(id, as_of="2020-01-01")
    assert caught.value.code == "not_found"
    assert appended() == []


def test_the_worklist_is_read_through_all_its_pages(chartledger, fresh, eventually):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    provider = {"id": fresh("provider"), "first_name": "Ada", "last_name": "Nguyen"}
    chartledger.patients.upsert(patient)
    chartledger.providers.upsert(provider)
    ids = [fresh("encounter") for _ in range(3)]
    about = {"patient_id": patient["id"], "provider_id": provider["id"], "date_of_service": "2026-03-14"}
    for id in ids:
        chartledger.encounters.upsert({"id": id, **about})
    worklist = lambda **query: [
        item["id"]
        for item in chartledger.encounters.worklist(provider_id=provider["id"], limit=2, **query)
    ]
    eventually(lambda: worklist(rule="facility_missing") == ids)
    assert worklist(from_="2026-03-15") == []


def test_what_is_looked_for_is_found_through_all_pages(chartledger, fresh, appended):
    name = fresh("Quill")
    ids = [fresh("payer") for _ in range(3)]
    for id in ids:
        chartledger.payers.upsert({"id": id, "name": name})
    assert [found["id"] for found in chartledger.search(name.upper(), limit=2)] == ids[::-1]
    assert list(chartledger.search(name, kind="patient")) == []
    assert len(appended()) == 3


def test_any_other_request_can_be_sent(chartledger, appended):
    assert chartledger.request("GET", "/integration/webhooks", params={"limit": 1})["next_page_token"] is None
    assert appended() == []


@pytest.mark.parametrize("options", [{"url": "chartledger"}, {"api_key": "clk_\n"}, {"api_key": ""}])
def test_what_is_no_address_and_no_key_is_refused_at_once(options):
    with pytest.raises(ValueError):
        Chartledger(**{"url": "http://127.0.0.1", "api_key": "clk_", **options})


def test_a_list_with_what_the_service_cannot_read_ends_with_an_error_that_names_it():
    pages = iter(
        [
            {"items": [{"id": "1"}], "next_page_token": "2", "unreadable": ["damaged"]},
            {"items": [{"id": "2"}], "next_page_token": None, "unreadable": []},
        ]
    )
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=next(pages)))
    read = []
    with Chartledger(url="http://127.0.0.1", api_key="clk_", transport=transport) as client:
        with pytest.raises(ChartledgerError) as caught:
            for payer in client.payers.list():
                read.append(payer["id"])
    assert read == ["1", "2"]
    assert (caught.value.code, caught.value.unreadable) == ("unreadable", ["damaged"])


def test_pages_of_a_list_are_read_one_by_one_from_any_of_them_on(chartledger, fresh):
    name = fresh("Paged")
    ids = [fresh("payer") for _ in range(3)]
    for id in ids:
        chartledger.payers.upsert({"id": id, "name": name})
    pages = list(chartledger.search(name, limit=2).pages())
    assert [[found["id"] for found in page.items] for page in pages] == [ids[:0:-1], ids[:1]]
    assert pages[1].next_page_token is None
    body = {"q": name, "limit": 2, "page_token": pages[0].next_page_token}
    rest = chartledger.request("POST", "/integration/search", json=body)
    assert [found["id"] for found in rest["items"]] == ids[:1]


def test_a_billing_system_reads_what_has_changed_since_it_last_asked(chartledger, fresh):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}

    def next_round(position: str) -> tuple[str, list[str]]:
        pages = list(chartledger.patients.list(updated_since=position, limit=1).pages())
        return pages[0].headers["Chartledger-Position"], [view["id"] for page in pages for view in page.items]

    position, _ = next_round("0")
    chartledger.patients.upsert(patient)
    position, changed = next_round(position)
    assert changed == [patient["id"]]
    assert next_round(position)[1] == []

    snapshot = chartledger.snapshot("patient")
    records = {line["subject"]: line for line in snapshot}
    mine = records[f"patient/{patient['id']}"]
    assert (mine["version"], mine["record"]["last_name"]) == (1, "B")
    hidden = chartledger.snapshot("patient", view="deidentified")
    assert all("last_name" not in line["record"] for line in hidden)
    chartledger.patients.patch(patient["id"], {"city": "Omaha"})
    events = chartledger.events(after=snapshot.position, kinds=["patient"])
    assert next(events)["data"]["changed"] == ["city"]
    events.close()


@pytest.mark.parametrize(
    "last, code", [("", "no_answer"), ('{"end":', "no_answer"), ('{"end":{"unreadable":2}}\n', "unreadable")]
)
def test_a_snapshot_that_is_not_complete_ends_with_an_error(last, code):
    text = '{"snapshot":{}}\n{"subject":"payer/1","record":{"name":"Aet\u2028na"}}\n' + last
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, text=text, headers={"chartledger-position": "1"})
    )
    read = []
    with Chartledger(url="http://127.0.0.1", api_key="clk_", transport=transport) as client:
        with pytest.raises(ChartledgerError) as caught:
            for line in client.snapshot("payer"):
                read.append(line["subject"])
    assert (caught.value.code, read) == (code, ["payer/1"])


def test_the_other_jobs_of_the_guides_are_requests(chartledger, fresh, eventually):
    patient = {"id": fresh("patient"), "first_name": "A", "last_name": "B", "date_of_birth": "1984-02-29"}
    encounter = fresh("encounter")
    chartledger.patients.upsert(patient)
    chartledger.encounters.upsert({"id": encounter, "patient_id": patient["id"]})
    billed = f"/integration/encounters/{encounter}/billed"
    assert chartledger.request("POST", billed, json={"claim_id": "claim-1"})["success"]
    chartledger.encounters.patch(encounter, {"voided_at": "2026-03-20", "void_reason": "Entered twice"})
    reason = {"reason": "The payer accepts it as it was"}
    assert chartledger.request("POST", f"{billed}/acknowledge", json=reason)["success"]
    with pytest.raises(ChartledgerError) as caught:
        chartledger.patients.upsert({**patient, "date_of_birth": "soon"})
    refused = f"/integration/requests/{caught.value.request_id}"
    listed = lambda: chartledger.request("GET", "/integration/requests", params={"field": "date_of_birth"})
    eventually(lambda: caught.value.request_id in [item["id"] for item in listed()["items"]])
    assert chartledger.request("GET", refused)["fields"] == ["date_of_birth"]
    proof = chartledger.request("GET", f"/integration/patients/{patient['id']}/history/1/proof")
    assert proof["type"] == "chartledger.proof.v1"

    page = chartledger.send("GET", "/events", params={"limit": 1})
    assert json.loads(page.text)["sequence"] == page.headers["Chartledger-Position"]
    bundle = {
        "resourceType": "Bundle",
        "type": "batch",
        "entry": [
            {
                "resource": {
                    **{"resourceType": "Patient", "id": fresh("patient"), "birthDate": "1984-02-29"},
                    "name": [{"family": "Lopez", "given": ["Maria"]}],
                },
                "request": {"method": "POST", "url": "Patient"},
            }
        ],
    }
    fhir = {"Content-Type": "application/fhir+json"}
    answer = chartledger.request("POST", "/fhir", content=json.dumps(bundle), headers=fhir)
    assert answer["resourceType"] == "Bundle"
    unborn = {"resourceType": "Patient", "id": fresh("patient"), "birthDate": "soon"}
    with pytest.raises(ChartledgerError) as caught:
        chartledger.request("POST", "/fhir/Patient", content=json.dumps(unborn), headers=fhir)
    details = caught.value.details
    assert [detail["field"] for detail in details if detail["field"] == "Patient.birthDate"]
    assert details[0]["message"] in str(caught.value)
    message = "MSH|^~\\&|EHR|ELM|||20260314093000||ADT^A04|1|P|2.5.1\rPID|1||MRN-1||Lopez^Maria||19840229|F"
    hl7 = {"Content-Type": "application/hl7-v2"}
    assert "MSA|" in chartledger.send("POST", "/hl7/v2", content=message, headers=hl7).text


def test_webhooks_are_managed(chartledger, appended):
    hooks = "/integration/webhooks"
    created = chartledger.request("POST", hooks, json={"url": "http://127.0.0.1:9/", "kinds": ["payer"]})
    hook = f"{hooks}/{created['id']}"
    assert created["secret"].startswith("whsec_")
    assert chartledger.request("PATCH", hook, json={"description": "Billing"})["description"] == "Billing"
    assert chartledger.request("POST", f"{hook}/ping")["message_id"]
    rotated = chartledger.request("POST", f"{hook}/secret/rotate", json={"overlap_seconds": 60})
    assert rotated["secret"] != created["secret"]
    chartledger.request("POST", f"{hook}/retry")
    chartledger.request("POST", f"{hook}/replay", json={"after": "0"})
    assert isinstance(chartledger.request("GET", f"{hook}/attempts")["items"], list)
    assert "pending" in chartledger.request("GET", hook)["delivery"]
    chartledger.request("DELETE", hook)
    with pytest.raises(ChartledgerError) as caught:
        chartledger.request("GET", hook)
    assert caught.value.code == "not_found"
    assert appended() == []


def test_schemas_and_the_event_catalog_are_read(chartledger, appended):
    schema = chartledger.request("GET", "/schemas/chartledger.payer.upserted.v1")
    assert "sent" in schema["properties"]
    assert chartledger.request("GET", "/asyncapi/json")["asyncapi"] == "3.0.0"
    assert appended() == []
