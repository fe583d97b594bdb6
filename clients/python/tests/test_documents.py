from io import BytesIO

import pytest

from chartledger_client import ChartledgerError


def pdf(text: str) -> bytes:
    return f"%PDF-1.7\n{text}\n%%EOF\n".encode()


@pytest.fixture
def encounter(chartledger, fresh) -> str:
    patient, encounter = fresh("patient"), fresh("encounter")
    chartledger.patients.upsert(
        {"id": patient, "first_name": "Maria", "last_name": "Lopez", "date_of_birth": "1984-02-29"}
    )
    chartledger.encounters.upsert({"id": encounter, "patient_id": patient})
    return encounter


def test_a_document_is_uploaded_listed_downloaded_replaced_and_removed(
    chartledger, encounter, appended, tmp_path, eventually
):
    documents = chartledger.documents
    about = {"document_id": "report/1", "category": "lab_results"}
    assert documents.upload(encounter, pdf("first"), filename="a.pdf", **about)["version"] == 1
    path = tmp_path / "b.pdf"
    path.write_bytes(pdf("second"))
    assert documents.upload(encounter, str(path), if_match=1, **about)["version"] == 2
    assert documents.upload(encounter, path, if_match=2, **about)["version"] == 3
    with path.open("rb") as file:
        assert documents.upload(encounter, file, **about)["version"] == 4
    eventually(lambda: [document["filename"] for document in documents.list(encounter)] == ["b.pdf"])
    assert b"".join(documents.download(encounter, "report/1", version=1)) == pdf("first")
    assert b"".join(documents.download(encounter, "report/1")) == pdf("second")
    documents.remove(encounter, "report/1")
    for call in (documents.remove, lambda *ids: list(documents.download(*ids))):
        with pytest.raises(ChartledgerError) as caught:
            call(encounter, "report/1")
        assert caught.value.code == "not_found"
    subject = f"document/{encounter}/report%2F1"
    assert appended() == [f"uploaded {subject}"] * 4 + [f"removed {subject}"]
    types = [version["type"] for version in documents.history(encounter, "report/1")]
    assert types == ["DocumentRemoved"] + ["DocumentUploaded"] * 4


def test_an_upload_is_sent_again_whole(on_bad_road, encounter, appended):
    client, road = on_bad_road("after", 503)
    file = BytesIO(pdf("whole"))
    client.documents.upload(encounter, file, filename="a.pdf", document_id="1", category="consent_form")
    assert len({request.headers["idempotency-key"] for request in road.requests}) == 1
    assert b"".join(client.documents.download(encounter, "1")) == pdf("whole")
    assert appended() == [f"uploaded document/{encounter}/1"]


def test_a_download_that_breaks_off_is_no_file(on_bad_road, chartledger, encounter):
    content = pdf("x" * 2_000_000)
    chartledger.documents.upload(
        encounter, content, filename="a.pdf", document_id="1", category="consent_form"
    )
    client, _ = on_bad_road("amid")
    with pytest.raises(ChartledgerError) as caught:
        list(client.documents.download(encounter, "1"))
    assert caught.value.code == "no_answer"


def test_a_file_without_a_name_is_refused(chartledger, appended):
    with pytest.raises(ValueError):
        chartledger.documents.upload("1", b"%PDF", document_id="1", category="consent_form")
    assert appended() == []
