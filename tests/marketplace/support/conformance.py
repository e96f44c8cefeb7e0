"""How the conformance tests are written: what every operation does, and every way in which it refuses.

Each family of operations has a module with two tables, `SUCCESSES` and `REFUSALS`; `test_conformance` holds them all
against the service model. The model names hardly any error codes, so each refusal says where its code is from:

- ``seen: …`` names a public thread or program in which Amazon answered so;
- ``named: …`` the code is Amazon's, and that it is given in this case is our reading of its documents;
- ``ours`` nothing is known of what Amazon said.

``docs/marketplace-errors.md`` has the same for users; a test compares the two.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from marketplace.wire import service
from tests.marketplace.support.world import NOWHERE, World

Act = Callable[[World], Any]
Successes = dict[str, list[Act]]

WRONG = "ParameterValidationError"
OURS = "ours"
SDKS = "named: the error lists of Amazon's Java and .NET SDKs for the API of 2014"
MODEL = "named: the documentation in botocore's service model"
PERL = "seen: t/CreateHIT.t of Amazon's Perl SDK for the API of 2014"
UNKNOWN_WORKER = "seen: boto/boto3#2355, aws/aws-sdk-java#2055"

# Of an id that nobody has, by the kind of thing.
UNKNOWN = {
    "HIT": "seen: aws/aws-cli#6116, NRGI/resourcecontracts.org#1384",
    "Assignment": "seen: facebookresearch/Mephisto#1081, cloudyr/MTurkR#18",
    "HITType": OURS,
    "QualificationType": "seen: human-nature-lab/breadboard#204",
    "QualificationRequest": SDKS,
}


def mturk(code: str) -> str:
    return f"AWS.MechanicalTurk.{code}"


BAD = mturk("InvalidParameterValue")


@dataclass(frozen=True)
class No:
    """One way in which an operation refuses: `parameters` makes the call's from a world; `who` calls.

    `says` are words that the message must have because tools look for them.
    """

    operation: str
    why: str
    parameters: Act
    code: str
    kind: str = "RequestError"
    who: str = "client"
    source: str = OURS
    says: str = ""


def registers(successes: Successes) -> Callable[[str], Callable[[Act], Act]]:
    def succeeds(operation: str) -> Callable[[Act], Act]:
        def register(act: Act) -> Act:
            successes.setdefault(operation, []).append(act)
            return act

        return register

    return succeeds


def given(changes: Mapping[str, Any], **others: Any) -> Act:
    """Parameters that need no world."""
    return lambda world: {**others, **changes}


def unknown(operation: str, parameter: str, kind: str, **others: Any) -> No:
    return No(
        operation,
        f"unknown {parameter}",
        given({parameter: NOWHERE}, **others),
        mturk(f"{kind}DoesNotExist"),
        source=UNKNOWN[kind],
        says=f"{NOWHERE} does not exist.",
    )


def ids(operation: str, parameter: str, kind: str, mine: Act, **others: Any) -> list[No]:
    """An id that nobody has and one that is somebody else's are refused alike. Qualification types everybody sees."""
    if kind == "QualificationType":
        code, source = mturk("PermissionDeniedException"), SDKS
    else:
        code, source = mturk(f"{kind}DoesNotExist"), OURS
    whose = f"someone else's {parameter}"
    theirs = No(operation, whose, lambda world: {parameter: mine(world), **others}, code, who="stranger", source=source)
    return [unknown(operation, parameter, kind, **others), theirs]


def a_hit(world: World) -> str:
    return str(world.hit()["HITId"])


# --- Run ----------------------------------------------------------------------------------------------------


def each_success(successes: Successes) -> list[Any]:
    named = [(name, act) for name, acts in successes.items() for act in acts]
    return [pytest.param((name, act), id=f"{name}-{act.__name__}") for name, act in named]


def each_refusal(refusals: list[No]) -> list[Any]:
    return [pytest.param(case, id=f"{case.operation}-{case.why}") for case in refusals]


def assert_success(world: World, case: tuple[str, Act]) -> None:
    """The act succeeds, and the operation was answered with status 200 on the way."""
    operation, act = case
    act(world)
    assert (operation, 200) in world.answered


def assert_refusal(world: World, case: No) -> None:
    caller = world.callers[case.who]
    parameters = case.parameters(world)

    with pytest.raises(ClientError) as refused:
        getattr(caller, xform_name(case.operation))(**parameters)

    response = refused.value.response
    assert response["Error"]["Code"] == case.kind, response
    if case.kind == "RequestError":  # of the others the model says nothing, so boto3 hands on the message alone
        assert response["TurkErrorCode"] == case.code
    assert response["Error"]["Message"].endswith(f"{case.code})" if case.code else "")
    assert case.says in response["Error"]["Message"]
    assert world.answered[-1] == (case.operation, 400)


def required_members(operation: str) -> list[str]:
    shape = service.operation_model(operation).input_shape
    return list(shape.required_members)
