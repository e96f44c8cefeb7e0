"""Which sites may frame workers' pages and take finished work, by the address of the endpoint alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hitserver.test_settings import load

READ = "import json; from hitserver import settings as s; print(json.dumps([s.FRAME_ANCESTORS, s.MTURK_SUBMIT_SITES]))"
AMAZONS = ["https://www.mturk.com", "https://workersandbox.mturk.com"]


@pytest.mark.parametrize(
    ("endpoint", "framing", "submitting"),
    [
        ("", ["'self'"], AMAZONS),
        (
            "https://market.example.org:8443/marketplace/api/",
            ["'self'", "https://market.example.org:8443"],
            [*AMAZONS, "https://market.example.org:8443"],
        ),
        ("https://mturk-requester.us-east-1.amazonaws.com", ["'self'"], AMAZONS),
        ("http://127.0.0.1:8123/marketplace/api/", ["'self'"], AMAZONS),  # this server itself
    ],
)
def test_the_endpoints_host_is_the_marketplace(
    tmp_path: Path, endpoint: str, framing: list[str], submitting: list[str]
) -> None:
    given = {"HITSERVER_MTURK_ENDPOINT": endpoint} if endpoint else {}
    done = load(tmp_path, read=READ, HITSERVER_BASE_URL="http://127.0.0.1:8123", **given)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [framing, submitting]
