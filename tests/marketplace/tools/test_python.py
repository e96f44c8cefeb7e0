"""Python clients that are not boto3, or not set up for any other address than Amazon's."""

import sys
from datetime import UTC, datetime

import pytest
from capo_mturk import Credentials, MTurkClient
from capo_mturk.errors import RequestError

from marketplace.services.hits import assignments
from tests.marketplace.support.running import HERE, REDIRECT, Tool
from tests.marketplace.support.world import EXTERNAL, TYPE, WORK, World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]
LARRY = str(HERE / "requester_larry.py")
PAGE = "https://lab.example.org/rate"


def test_larry_is_sent_here_by_one_file(tool: Tool, world: World) -> None:
    env = tool.pointed(PYTHONPATH=str(REDIRECT))
    made = tool.asked(sys.executable, LARRY, "publish", PAGE, env=env)

    assert made["url"] == tool.endpoint
    # 1000.00 less what two assignments of 0.50 may cost, with Amazon's fee of 20%.
    assert made["balance"] == 998.8
    hit = world.client.get_hit(HITId=made["hit"])["HIT"]
    assert (hit["Title"], hit["MaxAssignments"]) == ("Rate a sentence", 2)
    assert PAGE in hit["Question"]

    for answers in ({"rating": "4", "why": "a < b & c\nü 😀"}, {"rating": "1", "why": "-"}):
        assignments.submit(assignment_id=world.accepted(made["hit"]), answers=answers)
    reviewed = tool.asked(sys.executable, LARRY, "review", made["hit"], env=env)

    assert reviewed["annotation"] == {"batch": ["ü", 7]}
    assert reviewed["answers"][0] == {"rating": 4, "why": "a < b & c\nü 😀"}
    assert reviewed["answers"][1] == {"rating": 1, "why": "-"}
    assert reviewed["statuses"] == ["Approved", "Submitted"]
    assert (reviewed["listed"], reviewed["state"]) == ([made["hit"]], "Reviewable")


AMAZONS = "https://mturk-requester.us-east-1.amazonaws.com"
ASK = f"""
import boto3
print(boto3.client("mturk", endpoint_url="{AMAZONS}").meta.endpoint_url, boto3.client("sqs").meta.endpoint_url)
"""


def test_the_file_moves_mturk_alone_and_only_with_the_variable(tool: Tool) -> None:
    with_variable = tool.pointed(PYTHONPATH=str(REDIRECT))
    without = {name: value for name, value in with_variable.items() if name != "AWS_ENDPOINT_URL_MTURK"}

    moved, left = (tool.run(sys.executable, "-c", ASK, env=env).stdout.split() for env in (with_variable, without))

    assert moved == [tool.endpoint, "https://sqs.us-east-1.amazonaws.com"]
    assert left == [AMAZONS, "https://sqs.us-east-1.amazonaws.com"]


@pytest.fixture
def capo(tool: Tool) -> MTurkClient:
    credentials = Credentials(access_key=tool.key.access_key_id, secret_key=tool.key.secret)
    return MTurkClient(endpoint=tool.endpoint, region="us-east-1", credentials=credentials)


def test_capo_from_the_hit_to_the_bonus(capo: MTurkClient, world: World) -> None:
    before = datetime.now(UTC)
    hit = capo.create_hit(
        lifetime_in_seconds=WORK["LifetimeInSeconds"],
        assignment_duration_in_seconds=TYPE["AssignmentDurationInSeconds"],
        reward=TYPE["Reward"],
        title=TYPE["Title"],
        description=TYPE["Description"],
        max_assignments=2,
        question=EXTERNAL,
    )["hit"]
    assert (hit["hit_status"], hit["question"]) == ("Assignable", EXTERNAL)
    assert 3595 < (hit["expiration"] - before).total_seconds() < 3660

    first, second = world.submitted(hit["hit_id"]), world.submitted(hit["hit_id"])
    listed = [
        each
        for page in capo.iter_list_assignments_for_hit(hit["hit_id"], max_results=1)
        for each in page["assignments"]
    ]
    assert [each["assignment_id"] for each in listed] == [first, second]
    capo.approve_assignment(first)
    capo.reject_assignment(second, "Empty.")
    capo.send_bonus(listed[0]["worker_id"], "0.25", first, "Fast.")

    statuses = [
        world.client.get_assignment(AssignmentId=each)["Assignment"]["AssignmentStatus"] for each in (first, second)
    ]
    assert statuses == ["Approved", "Rejected"]
    assert capo.get_account_balance()["available_balance"] == world.balance() == "999.10"


def test_capo_recognises_our_errors(capo: MTurkClient) -> None:
    with pytest.raises(RequestError) as refused:
        capo.get_hit("3NOSUCHTHING")

    assert refused.value.data["turk_error_code"] == "AWS.MechanicalTurk.HITDoesNotExist"
