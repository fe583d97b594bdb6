import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run(tmp_path):
    def run(name, *args):
        command = [sys.executable, EXAMPLES / name, *args]
        return subprocess.run(command, cwd=tmp_path, text=True, check=True, capture_output=True).stdout

    return run


@contextmanager
def started(name, folder, **env):
    """An example that goes on; gives what it has printed so far."""
    printed = folder / f"{name}.out"
    with printed.open("a") as out:
        command = [sys.executable, EXAMPLES / name]
        process = subprocess.Popen(command, cwd=folder, env={**os.environ, **env}, stdout=out, stderr=out)
    try:
        yield printed.read_text
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_send_records_as_the_readme_shows(run):
    assert re.fullmatch(r"version \d+, 0 warnings\n", run("send_records.py"))
    readme = (EXAMPLES.parent / "README.md").read_text()
    assert (EXAMPLES / "send_records.py").read_text() in readme


def test_send_a_batch(run, fresh, tmp_path, appended):
    ids = [fresh("payer") for _ in range(3)]
    lines = [
        {"kind": "payer", "record": {"id": id, "name": name}}
        for id, name in zip(ids, ["Humana", "", "Cigna"])
    ]
    (tmp_path / "payers.ndjson").write_text("\n".join(json.dumps(line) for line in lines))
    refused, stored = run("send_batch.py", "payers.ndjson").splitlines()
    assert refused.startswith("line 2: Validation failed: name ")
    assert stored == "2 stored"
    assert appended() == [f"upserted payer/{ids[0]}", f"upserted payer/{ids[2]}"]


def test_follow_events_and_go_on_where_they_stopped(chartledger, fresh, tmp_path, eventually):
    id = fresh("payer")
    chartledger.payers.upsert({"id": id, "name": "Aetna"})
    with started("follow_events.py", tmp_path) as printed:
        eventually(lambda: f"payer/{id} version 1: id, name\n" in printed())
        chartledger.payers.patch(id, {"city": "Omaha"})
        eventually(lambda: f"payer/{id} version 2: city\n" in printed())
        eventually((tmp_path / "position.txt").exists)
    chartledger.payers.patch(id, {"city": "Lincoln"})
    with started("follow_events.py", tmp_path) as printed:
        eventually(lambda: f"payer/{id} version 3: city\n" in printed())
        assert printed().count(f"payer/{id} version 1") == 1


def test_receive_webhooks(chartledger, tmp_path, eventually):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    webhook = chartledger.request("POST", "/integration/webhooks", json={"url": f"http://127.0.0.1:{port}/"})
    env = {"WEBHOOK_SECRET": webhook["secret"], "PORT": str(port)}
    with started("receive_webhooks.py", tmp_path, **env) as printed:
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        chartledger.request("POST", f"/integration/webhooks/{webhook['id']}/ping")
        eventually(lambda: " chartledger.webhook.ping.v1\n" in printed())
    chartledger.request("DELETE", f"/integration/webhooks/{webhook['id']}")
