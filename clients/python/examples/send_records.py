import os
import sys

from chartledger_client import Chartledger, ChartledgerError

url = os.environ.get("CHARTLEDGER_URL", "http://127.0.0.1:3000")
with Chartledger(url=url, api_key=os.environ.get("CHARTLEDGER_API_KEY", "clk_")) as chartledger:
    try:
        chartledger.payers.upsert({"id": "payer-aetna", "name": "Aetna"})
        written = chartledger.patients.upsert(
            {
                "id": "patient-1001",
                "first_name": "Maria",
                "last_name": "Lopez",
                "date_of_birth": "1984-02-29",
                "primary_insurance": {"payer_id": "payer-aetna", "policy_number": "W123456789"},
            }
        )
        print(f"version {written['version']}, {len(written['warnings'])} warnings")
    except ChartledgerError as error:
        sys.exit(f"{error.code}: {error}")
