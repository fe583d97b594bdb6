import json
import os
import sys
from collections.abc import Iterator

from chartledger_client import BatchLine, Chartledger

url = os.environ.get("CHARTLEDGER_URL", "http://127.0.0.1:3000")


def read_records(path: str) -> Iterator[BatchLine]:
    """Records from a file of JSON lines, each {"kind": …, "record": …}. It is read as fast as the records are taken."""
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield json.loads(line)


stored = 0
with Chartledger(url=url, api_key=os.environ.get("CHARTLEDGER_API_KEY", "clk_")) as chartledger:
    for result in chartledger.batch(read_records(sys.argv[1])):
        if result["status"] == 200:
            stored += 1
        else:
            print(f"line {result['line']}: {result.get('error')}")
print(f"{stored} stored")
