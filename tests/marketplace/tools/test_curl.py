"""curl signs by itself: a third signer, and one that signs a path as it was typed."""

import json
import time
from typing import Any

import pytest

from tests.marketplace.support.doc_blocks import blocks
from tests.marketplace.support.running import Tool
from tests.marketplace.support.world import EXTERNAL, TYPE, WORK, World
from tests.services import ROOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]
JSON = "Content-Type: application/x-amz-json-1.1"


@pytest.fixture
def ask(tool: Tool, curl: str) -> Any:
    def run(operation: str, body: Any, *options: str, address: str = "", secret: str = "") -> tuple[int, Any]:
        done = tool.run(
            *(curl, "--silent", "--aws-sigv4", "aws:amz:us-east-1:mturk-requester"),
            *("--user", f"{tool.key.access_key_id}:{secret or tool.key.secret}"),
            *("--header", f"X-Amz-Target: MTurkRequesterServiceV20170117.{operation}", "--header", JSON, *options),
            *("--write-out", "\n%{http_code}", "--data-binary", "@-", address or tool.endpoint),
            given=body if isinstance(body, str) else json.dumps(body, ensure_ascii=False),
        )
        assert done.returncode == 0, done.stderr
        answer, _, status = done.stdout.rpartition("\n")
        return int(status), json.loads(answer)

    return run


def test_a_hit_is_made_and_read(ask: Any, world: World) -> None:
    title = "Würdigung: „schön“ 😀"
    status, made = ask("CreateHIT", {**TYPE, **WORK, "Title": title, "Question": EXTERNAL})

    assert (status, made["HIT"]["Title"], made["HIT"]["HITStatus"]) == (200, title, "Assignable")
    assert world.client.get_hit(HITId=made["HIT"]["HITId"])["HIT"]["Title"] == title


@pytest.mark.parametrize("body", ["{}", "", "{ }"])
def test_several_messages_report_that_there_is_nothing_to_do(ask: Any, body: str) -> None:
    assert ask("GetAccountBalance", body) == (200, {"AvailableBalance": "1000.00", "OnHoldBalance": "0.00"})


def test_the_address_is_good_without_its_slash(ask: Any, tool: Tool) -> None:
    assert ask("GetAccountBalance", {}, address=tool.endpoint.rstrip("/"))[0] == 200


def test_the_documented_order_moves_the_clock(tool: Tool, curl: str, settings: Any, tmp_path: Any) -> None:
    """The block of docs/marketplace.md, as it is."""
    settings.MARKETPLACE_TEST_CONTROLS, settings.VAR = True, tmp_path
    (block,) = [each for each in blocks(ROOT / "docs" / "marketplace.md") if "MarketplaceTestControls" in each.text]

    done = tool.run("bash", "-c", block.text, env=tool.pointed())

    assert done.returncode == 0, done.stderr
    assert abs(json.loads(done.stdout)["Now"] - (time.time() + 86400)) < 600


def test_a_wrong_secret_is_refused(ask: Any) -> None:
    status, answer = ask("GetAccountBalance", {}, secret="wrong")

    assert (status, answer["__type"]) == (400, "InvalidSignatureException")


def test_a_session_token_from_amazon_is_refused_by_name(ask: Any) -> None:
    status, answer = ask("GetAccountBalance", {}, "--header", "X-Amz-Security-Token: left-over")

    assert (status, answer["__type"]) == (400, "UnrecognizedClientException")
