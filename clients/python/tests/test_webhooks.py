import base64
import hashlib
import hmac
import json
import math
import time

import pytest

from chartledger_client import ChartledgerError, verify_webhook

# The example of the Standard Webhooks specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HEADERS = {
    "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "Webhook-Timestamp": "1614265330",
    "Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
BODY = b'{"test": 2432232314}'
OTHER = "whsec_" + base64.b64encode(b"another secret").decode()


def verify(**changes):
    headers = {**HEADERS, **changes.pop("headers", {})}
    return verify_webhook(
        **{"secret": SECRET, "headers": headers, "body": BODY, "tolerance_seconds": math.inf, **changes}
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"body": BODY.decode()},
        {"secret": [OTHER, SECRET]},
        {"headers": {"Webhook-Signature": "v1a,abc v1,YWJj " + HEADERS["Webhook-Signature"]}},
    ],
)
def test_the_message_of_a_good_signature(changes):
    assert verify(**changes) == {"test": 2432232314}


@pytest.mark.parametrize(
    "changes",
    [
        {"body": BODY + b" "},
        {"secret": OTHER},
        {"tolerance_seconds": 300},
        {"headers": {"Webhook-Id": "msg_other"}},
        {"headers": {"Webhook-Id": ""}},
        {"headers": {"Webhook-Timestamp": "1614265331"}},
        {"headers": {"Webhook-Timestamp": "yesterday"}},
        {"headers": {"Webhook-Signature": "v1,YWJj"}},
        {"headers": {"Webhook-Signature": HEADERS["Webhook-Signature"].replace("v1", "v2")}},
    ],
)
def test_a_message_that_is_not_to_be_trusted(changes):
    with pytest.raises(ChartledgerError) as caught:
        verify(**changes)
    assert caught.value.code == "invalid_signature"


@pytest.mark.parametrize("body", [{"test": 2432232314}, None, [1]])
def test_a_parsed_body_is_a_mistake_of_the_program(body):
    with pytest.raises(TypeError, match="pass the raw body"):
        verify(body=body)


@pytest.mark.parametrize("secret", ["whsec_", "whsec_%", ""])
def test_what_is_no_secret(secret):
    with pytest.raises(ValueError):
        verify(secret=secret)


@pytest.mark.parametrize("age, good", [(200, True), (400, False), (-400, False)])
def test_a_message_is_of_the_last_five_minutes(age, good):
    body, timestamp = json.dumps({"type": "ping"}).encode(), str(int(time.time()) - age)
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    digest = hmac.new(key, f"msg_1.{timestamp}.".encode() + body, hashlib.sha256).digest()
    headers = {
        **{"webhook-id": "msg_1", "webhook-timestamp": timestamp},
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
    if good:
        assert verify_webhook(secret=SECRET, headers=headers, body=body) == {"type": "ping"}
    else:
        with pytest.raises(ChartledgerError):
            verify_webhook(secret=SECRET, headers=headers, body=body)
