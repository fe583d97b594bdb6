"""What an EMR does, through the Python client of openapi-generator."""

import json
import os

from chartledger_openapi import ApiClient, Configuration, Encounter, ErrorBody
from chartledger_openapi.api import DocumentsApi, EncountersApi
from chartledger_openapi.exceptions import BadRequestException

api_key = {"apiKeyHeader": os.environ["CHARTLEDGER_API_KEY"]}
client = ApiClient(Configuration(host=os.environ["CHARTLEDGER_URL"], api_key=api_key))
encounters = EncountersApi(client)

encounter = Encounter(id="encounter-1", patient_id="patient-1", is_completed=True)
written = encounters.upsert_encounter(encounter)

refused: list[list[str | None]] = []
try:
    encounters.upsert_encounter(Encounter(id="encounter-2", patient_id="nobody"))
except BadRequestException as error:
    assert isinstance(error.data, ErrorBody)
    refused = [[detail.var_field, detail.id] for detail in error.data.details or []]

uploaded = DocumentsApi(client).upload_document("encounter-1", "report-1", "lab_results", os.environ["REPORT"])

listed = []
token = None
while True:
    page = encounters.list_encounters(limit=1, page_token=token, is_completed=True)
    listed += [[item.record.id, item.record.is_completed] for item in page.items]
    token = page.next_page_token
    if token is None:
        break

done = {"written": [written.outcome, written.version], "refused": refused}
print(json.dumps({**done, "uploaded": uploaded.document_id, "listed": listed}))
