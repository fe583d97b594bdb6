import subprocess
import sys
from pathlib import Path

HEAD = """
from chartledger_client import BatchLine, Chartledger, verify_webhook
from chartledger_client.types import Patient

chartledger = Chartledger(url="http://127.0.0.1", api_key="clk_")
ann: Patient = {"id": "patient-1", "first_name": "Ann", "last_name": "Lee", "date_of_birth": "1990-01-02"}
"""

GOOD = """
print(chartledger.payers.upsert({"id": "payer-1", "name": "Aetna"}, if_match=1)["version"] + 1)
lines: list[BatchLine] = [
    {"kind": "patient", "record": ann},
    {"kind": "payer", "record": {"id": "1", "name": "Aetna"}},
]
for result in chartledger.batch(lines, chunk_lines=2):
    print(result["line"] + result["status"])
for view in chartledger.encounters.list(limit=10, patient_id="patient-1"):
    print(view["record"]["patient_id"].upper())
for finding in chartledger.encounters.readiness("encounter-1", as_of="2026-03-14")["findings"]:
    print(finding["rule"].upper(), finding["cause"]["principal"]["id"])
for item in chartledger.encounters.worklist(state="blocked", from_="2026-03-14"):
    print(item["findings"][0]["rule"].upper())
for page in chartledger.encounters.list(updated_since="0").pages():
    print(page.headers["chartledger-position"].upper(), page.items[0]["record"]["patient_id"].upper())
print(chartledger.send("GET", "/events", params={"limit": 1}).text.upper())
for event in chartledger.events(kinds=["patient", "document"]):
    if event["type"] == "chartledger.patient.upserted.v1":
        print(event["data"]["sent"]["last_name"].upper())
    if event["type"] == "chartledger.document.uploaded.v1":
        print(event["data"]["sent"]["filename"].upper())
message = verify_webhook(secret="whsec_", headers={}, body=b"")
if message["type"] == "chartledger.webhook.ping.v1":
    print(message["data"]["webhook_id"].upper())
"""

WRONG = [
    'chartledger.payers.upsert({"id": "payer-1"})',
    'chartledger.payers.upsert({"id": "payer-1", "name": "Aetna", "first_name": "Ann"})',
    'chartledger.patients.upsert({**ann, "gender": "unknown"})',
    'chartledger.payers.upsert({"id": "payer-1", "name": "Aetna"}, if_match="latest")',
    'chartledger.encounters.worklist(state="done")',
    'chartledger.patients.readiness("patient-1")',
    'chartledger.batch([{"kind": "claim", "record": ann}])',
    'chartledger.events(kinds=["claim"])',
    'chartledger.events(types=["chartledger.payer.created.v1"])',
    'chartledger.payers.list(patient_id="1")',
    'chartledger.documents.upload("1", b"", filename="a.pdf", document_id="1", category="poem")',
    'Chartledger(url="http://127.0.0.1")',
]


HOME = Path(__file__).parent.parent


def mypy(folder: Path, *args: object) -> str:
    command = [sys.executable, "-m", "mypy", "--cache-dir", folder / ".cache", *args]
    return subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True).stdout


def test_the_types_take_what_is_right_and_refuse_what_is_wrong(tmp_path):
    good, wrong = tmp_path / "good.py", tmp_path / "wrong.py"
    good.write_text(HEAD + GOOD)
    # Each of them is an error, or its comment would be one.
    wrong.write_text(HEAD + "".join(f"{line}  # type: ignore\n" for line in WRONG))
    examples = sorted((HOME / "examples").glob("*.py"))
    assert mypy(tmp_path, "--strict", good, wrong, *examples).startswith("Success: no issues found")


def test_the_package_keeps_to_them(tmp_path):
    checked = mypy(tmp_path, "--config-file", HOME / "pyproject.toml", HOME / "src/chartledger_client")
    assert checked.startswith("Success: no issues found")
