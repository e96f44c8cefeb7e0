"""Amazon's SDK for JavaScript: neither its signer, parser nor model comes from botocore."""

import re
from typing import Any

import pytest

from marketplace.services.hits import assignments
from tests.marketplace.support.running import HERE, Tool
from tests.marketplace.support.world import EXTERNAL, World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]


@pytest.fixture
def requester_js(tool: Tool, node: str) -> Any:
    def run(*arguments: str, **changes: str) -> Any:
        return tool.asked(node, str(HERE / "requester.mjs"), *arguments, env=tool.pointed(**changes))

    return run


def test_from_the_hit_to_the_bonus(requester_js: Any, world: World) -> None:
    made = requester_js("publish", EXTERNAL)

    hit = made["hit"]
    assert (hit["HITStatus"], hit["Question"], hit["Reward"]) == ("Assignable", EXTERNAL, "0.50")
    assert (hit["Title"], made["named"]) == ("Rate a sentence: „schön“ 😀", "Häufige Leser 📚")
    assert made["lifetime"] == 3600 * 1000
    (requirement,) = hit["QualificationRequirements"]
    assert requirement["LocaleValues"] == [{"Country": "US"}, {"Country": "DE"}]

    for note in ("well", "better & <b>", "-"):
        assignments.submit(assignment_id=world.accepted(hit["HITId"]), answers={"rating": "4", "note": note})
    reviewed = requester_js("review", hit["HITId"])

    assert (reviewed["pages"], reviewed["state"]) == ([2, 1, 0], "Reviewable")
    assert reviewed["statuses"] == ["Approved", "Approved", "Rejected"]
    assert [payment["BonusAmount"] for payment in reviewed["paid"]] == ["1.25"]
    assert "<QuestionIdentifier>rating</QuestionIdentifier><FreeText>4</FreeText>" in reviewed["answer"]
    # 1000.00 less two rewards of 0.50 and a bonus of 1.25, each with Amazon's fee of 20%.
    assert world.balance() == "997.30"


def test_errors_have_the_form_that_the_sdk_expects(requester_js: Any) -> None:
    no_hit, no_worker, no_id = requester_js("mistakes")["told"]

    assert (no_hit["name"], no_hit["status"], no_hit["modelled"]) == ("RequestError", 400, True)
    assert no_hit["code"] == "AWS.MechanicalTurk.HITDoesNotExist"
    assert re.search(
        r"3NOSUCHTHING does not exist\..* \(\d{13} s AWS\.MechanicalTurk\.HITDoesNotExist\)$", no_hit["message"]
    )
    assert no_worker["code"].startswith("AWS.MechanicalTurk.")
    assert (no_id["name"], no_id["modelled"]) == ("ValidationException", True)
    assert [error["tries"] for error in (no_hit, no_worker, no_id)] == [1, 1, 1]


@pytest.mark.parametrize("ending", ["", "/"])
def test_the_address_is_good_with_and_without_a_slash(requester_js: Any, tool: Tool, ending: str) -> None:
    address = tool.endpoint.rstrip("/") + ending

    assert requester_js("mistakes", AWS_ENDPOINT_URL_MTURK=address)["told"][0]["name"] == "RequestError"


def test_a_wrong_secret_is_refused(tool: Tool, node: str) -> None:
    env = tool.pointed(AWS_SECRET_ACCESS_KEY="wrong")

    told = tool.asked(node, str(HERE / "requester.mjs"), "mistakes", env=env)["told"]

    assert {error["name"] for error in told} == {"InvalidSignatureException"}
