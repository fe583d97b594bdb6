"""What an EMR does, through the client of openapi-python-client."""

import json
import os
from pathlib import Path

from chartledger_httpx import AuthenticatedClient
from chartledger_httpx.api.documents import upload_document
from chartledger_httpx.api.encounters import list_encounters, upsert_encounter
from chartledger_httpx.models import (
    DocumentUpload,
    DocumentUploadCategory,
    DocumentUploaded,
    Encounter,
    EncounterPage,
    ErrorBody,
    Written,
)
from chartledger_httpx.types import UNSET, File, Unset

client = AuthenticatedClient(os.environ["CHARTLEDGER_URL"], os.environ["CHARTLEDGER_API_KEY"])

encounter = Encounter(id="encounter-1", patient_id="patient-1", is_completed=True)
written = upsert_encounter.sync(client=client, body=encounter)
assert isinstance(written, Written)

error = upsert_encounter.sync(client=client, body=Encounter(id="encounter-2", patient_id="nobody"))
assert isinstance(error, ErrorBody)
refused = [[detail.field, detail.id] for detail in error.details or []]

report = Path(os.environ["REPORT"])
with report.open("rb") as opened:
    file = File(opened, report.name, "application/pdf")
    upload = DocumentUpload("report-1", DocumentUploadCategory.LAB_RESULTS, file)
    uploaded = upload_document.sync("encounter-1", client=client, body=upload)
assert isinstance(uploaded, DocumentUploaded)

listed = []
token: str | None | Unset = UNSET
while token is not None:
    page = list_encounters.sync(client=client, limit=1, page_token=token, is_completed=True)
    assert isinstance(page, EncounterPage)
    listed += [[item.record.id, item.record.is_completed] for item in page.items]
    token = page.next_page_token

done = {"written": [written.outcome, written.version], "refused": refused}
print(json.dumps({**done, "uploaded": uploaded.document_id, "listed": listed}))
