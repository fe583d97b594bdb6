import json
import re
from pathlib import Path

import pytest

from chartledger_client import record_digest

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "record-digests.md"
VECTORS = json.loads(re.search(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_digest_is_that_of_the_documentation(vector):
    assert record_digest(vector["record"]) == vector["sha256"]


def test_names_are_sorted_by_utf_16_code_units():
    assert record_digest({"\ufb33": "1", "\U0001f600": "2"}) == record_digest({"\U0001f600": "2", "\ufb33": "1"})


def test_a_value_that_no_record_has_is_refused():
    with pytest.raises(TypeError):
        record_digest({"id": "payer", "share": 0.5})
