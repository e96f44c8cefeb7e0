"""The AWS command line, as anyone would type it, against the endpoint."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.marketplace.support.clients import PATH, Key
from tests.marketplace.support.world import EXTERNAL, TYPE, World
from tests.support import clean_environment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http"), pytest.mark.slow]


class Aws:
    def __init__(self, base_url: str, key: Key, folder: Path) -> None:
        self.command = [str(Path(sys.executable).with_name("aws")), "--endpoint-url", base_url + PATH, "mturk"]
        self.environment = clean_environment(
            {
                "AWS_ACCESS_KEY_ID": key.access_key_id,
                "AWS_SECRET_ACCESS_KEY": key.secret,
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_CONFIG_FILE": str(folder / "none"),
                "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
                "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_PAGER": "",
                "AWS_DEFAULT_OUTPUT": "json",
                "AWS_MAX_ATTEMPTS": "1",
            }
        )

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *self.command, *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)

    def __call__(self, *arguments: str) -> Any:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "{}")


@pytest.fixture
def aws(base_url: str, key: Key, tmp_path: Path) -> Aws:
    return Aws(base_url, key, tmp_path)


@pytest.fixture
def world(client: Any) -> World:
    return World(client=client, stranger=None, poor=None)


def options(given: dict[str, Any]) -> list[str]:
    """`{"MaxAssignments": 2}` as the command line wants it: `--max-assignments 2`."""
    from botocore import xform_name

    return [part for name, value in given.items() for part in ("--" + xform_name(name, "-"), str(value))]


HIT_OPTIONS = options({**TYPE, "MaxAssignments": 2, "LifetimeInSeconds": 3600, "Question": EXTERNAL})


def test_hits(aws: Aws, world: World) -> None:
    type_id = aws("create-hit-type", *options(TYPE))["HITTypeId"]
    hit = aws("create-hit", *HIT_OPTIONS)["HIT"]
    assert (hit["HITTypeId"], hit["HITStatus"]) == (type_id, "Assignable")
    more = ["--max-assignments", "1", "--lifetime-in-seconds", "60", "--question", EXTERNAL]
    other = aws("create-hit-with-hit-type", "--hit-type-id", type_id, *more)["HIT"]["HITId"]

    assert aws("get-hit", "--hit-id", other)["HIT"]["MaxAssignments"] == 1
    assert len(aws("list-hits", "--page-size", "1")["HITs"]) == 2
    aws("create-additional-assignments-for-hit", "--hit-id", other, "--number-of-additional-assignments", "1")
    aws("update-expiration-for-hit", "--hit-id", other, "--expire-at", "2020-01-01")
    assert aws("get-hit", "--hit-id", other)["HIT"]["HITStatus"] == "Reviewable"
    assert [each["HITId"] for each in aws("list-reviewable-hits")["HITs"]] == [other]
    aws("delete-hit", "--hit-id", other)
    assert aws("get-hit", "--hit-id", other)["HIT"]["HITStatus"] == "Disposed"


def test_assignments_and_money(aws: Aws, world: World) -> None:
    hit_id = world.hit()["HITId"]
    good, bad = world.submitted(hit_id), world.submitted(hit_id)
    worker_id = world.worker_of(good)

    assert len(aws("list-assignments-for-hit", "--hit-id", hit_id)["Assignments"]) == 2
    assert aws("get-assignment", "--assignment-id", good)["Assignment"]["WorkerId"] == worker_id
    aws("approve-assignment", "--assignment-id", good, "--requester-feedback", "Thanks")
    aws("reject-assignment", "--assignment-id", bad, "--requester-feedback", "No answer")
    bonus = options({"WorkerId": worker_id, "BonusAmount": "0.10", "AssignmentId": good, "Reason": "Fast"})
    aws("send-bonus", *bonus)
    assert aws("list-bonus-payments", "--assignment-id", good)["BonusPayments"][0]["BonusAmount"] == "0.10"
    assert aws("get-account-balance")["AvailableBalance"] == "999.28"  # 1000 - 0.60 - 0.12
    message = options({"Subject": "Hello", "MessageText": "More soon", "WorkerIds": worker_id})
    assert aws("notify-workers", *message)["NotifyWorkersFailureStatuses"] == []


def test_qualifications_and_blocks(aws: Aws, world: World) -> None:
    new = options({"Name": "Careful", "Description": "Works with care", "QualificationTypeStatus": "Active"})
    type_id = aws("create-qualification-type", *new)["QualificationType"]["QualificationTypeId"]
    worker_id = world.worker().worker_id
    who = options({"QualificationTypeId": type_id, "WorkerId": worker_id})

    mine = aws("list-qualification-types", "--no-must-be-requestable", "--must-be-owned-by-caller")
    assert [each["Name"] for each in mine["QualificationTypes"]] == ["Careful"]
    aws("associate-qualification-with-worker", *who, "--integer-value", "5", "--no-send-notification")
    assert aws("get-qualification-score", *who)["Qualification"]["IntegerValue"] == 5
    aws("disassociate-qualification-from-worker", *who)
    aws("create-worker-block", *options({"WorkerId": worker_id, "Reason": "Copies"}))
    assert aws("list-worker-blocks")["WorkerBlocks"] == [{"WorkerId": worker_id, "Reason": "Copies"}]
    aws("delete-worker-block", "--worker-id", worker_id)


def test_what_an_error_looks_like(aws: Aws) -> None:
    done = aws.run("get-hit", "--hit-id", "3NOSUCH")

    assert done.returncode != 0
    assert "An error occurred (RequestError) when calling the GetHIT operation" in done.stderr
    assert "AWS.MechanicalTurk.HITDoesNotExist)" in done.stderr
