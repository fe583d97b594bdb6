import os
from pathlib import Path

from chartledger_client import Chartledger

url = os.environ.get("CHARTLEDGER_URL", "http://127.0.0.1:3000")


class PositionFile:
    """Keeps the position in a file, which is replaced whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> str | None:
        return self.path.read_text() if self.path.exists() else None

    def save(self, position: str) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(position)
        new.replace(self.path)


# Goes on where it stopped, also when the service or this program was restarted.
with Chartledger(url=url, api_key=os.environ.get("CHARTLEDGER_API_KEY", "clk_")) as chartledger:
    for event in chartledger.events(
        kinds=["payer", "patient"], checkpoint=PositionFile(Path("position.txt"))
    ):
        data = event["data"]
        print(f"{event['subject']} version {data['version']}: {', '.join(data['changed'])}", flush=True)
