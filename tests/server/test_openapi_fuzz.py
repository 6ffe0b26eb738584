"""schemathesis calls every operation of the OpenAPI document in ways that it allows and forbids."""

import os
import subprocess
import sys

import pytest

from askonce.engine import Engine
from askonce.server import ServerSettings
from askonce.server.guard.keys import read_keys

KEY = "write-key-of-the-test"
# What a post must be beside its shape no schema says: an id is printable, a day is one of the
# calendar, there is some text, an answer has its question. Nor does one say which posts exist and
# are questions, as marks, decisions and pinned results need. So a write may be refused with 422.
# A body that is too long is refused unread (413), which is no rejection to schemathesis.
REFUSED = ["400", "401", "403", "404", "405", "409", "413", "415", "422", "429", "5xx"]
USUAL = ["2xx", "3xx", "401", "403", "404", "409", "429", "5xx"]  # that a valid request may get
CONFIG = f"""
[checks]
negative_data_rejection.expected-statuses = {REFUSED}

[[operations]]
include-path-regex = "^/api/posts"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

[[operations]]
include-path-regex = "^/api/(decisions|feedback|options)"
checks.positive_data_acceptance.expected-statuses = {[*USUAL, "422"]}
"""


@pytest.fixture
def engine():
    with Engine.open("bicycles") as engine:
        yield engine


@pytest.mark.slow
def test_every_operation_does_what_its_document_says(engine, serve, tmp_path):
    pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    keys = read_keys({"ASKONCE_API_KEY": KEY, "ASKONCE_READ_KEY": "read-key-of-the-test"})
    client = serve(ServerSettings(keys=keys), engine)
    assert client.get("/openapi.json").status_code == 200  # written once; takes long if busy
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"),
        f"{client.base_url}/openapi.json".replace("//openapi", "/openapi"),
        *("--checks", "all", "--phases", "examples,coverage,fuzzing,stateful"),
        *("--max-examples", os.environ.get("ASKONCE_EXAMPLES", "40")),
        *(
            "--seed",
            os.environ.get("ASKONCE_SEED", "1"),
            "--header",
            f"Authorization: Bearer {KEY}",
        ),
        *("--request-timeout", "60", "--max-response-time", "60"),  # machines may be busy
        *("--suppress-health-check", "all", "--no-color", "--continue-on-failure"),
    ]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    reported = "\n".join(line[:400] for line in (ran.stdout + ran.stderr).splitlines())
    assert ran.returncode == 0, reported
