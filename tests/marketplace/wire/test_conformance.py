"""That the conformance tests leave nothing out, and that the documentation says what they say.

What is tested, and where the expected codes are from, is in the modules of the families; see `conformance`.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from marketplace.wire import service
from tests.marketplace.support.clients import Key, call
from tests.marketplace.support.conformance import No, required_members
from tests.marketplace.support.world import TYPE, WORK, World
from tests.marketplace.wire import (
    test_conformance_assignments,
    test_conformance_hits,
    test_conformance_hits_made,
    test_conformance_payments,
    test_conformance_qualifications,
    test_conformance_workers,
)
from tests.services import ROOT

FAMILIES = (
    test_conformance_hits_made,
    test_conformance_hits,
    test_conformance_assignments,
    test_conformance_payments,
    test_conformance_qualifications,
    test_conformance_workers,
)
REFUSALS: list[No] = [case for family in FAMILIES for case in family.REFUSALS]
# Ids that are nobody's property, or whose bearer everybody may look up: nothing is to be hidden there.
SHARED = {
    *((operation, "WorkerId") for operation in service.operations()),
    ("GetQualificationType", "QualificationTypeId"),
    ("ListHITsForQualificationType", "QualificationTypeId"),
}
DOCUMENT = ROOT / "docs" / "marketplace-errors.md"


def id_members(operation: str) -> list[str]:
    return [name for name in service.operation_model(operation).input_shape.members if name.endswith("Id")]


IDS = [(operation, name) for operation in sorted(service.operations()) for name in id_members(operation)]


def test_every_operation_has_a_success_in_exactly_one_family() -> None:
    names = [name for family in FAMILIES for name in family.SUCCESSES]

    assert set(names) == service.operations()
    assert len(names) == len(set(names))


def test_every_operation_has_refusals() -> None:
    assert {case.operation for case in REFUSALS} == service.operations()


@pytest.mark.parametrize(("operation", "name"), IDS)
def test_every_id_is_tried_unknown_and_from_somebody_else(operation: str, name: str) -> None:
    cases = {case.why: case for case in REFUSALS if case.operation == operation}

    assert f"unknown {name}" in cases
    if (operation, name) not in SHARED:
        assert f"someone else's {name}" in cases


@pytest.mark.parametrize("operation", sorted(name for name in service.operations() if required_members(name)))
@pytest.mark.django_db
def test_required_parameters_are_required(base_url: str, key: Key, operation: str) -> None:
    """In the words that boto/boto3#1223 was given: "Value null at 'reason' failed to satisfy constraint: …"."""
    answer = call(base_url, key, operation, {})

    assert (answer.status, answer.json()["__type"]) == (400, "ValidationException")
    for member in required_members(operation):
        named = member[:1].lower() + member[1:]
        rule = f"Value null at '{named}' failed to satisfy constraint: Member must not be null"
        assert rule in answer.json()["message"]


@pytest.mark.django_db
def test_a_used_token_names_the_hit_it_made(world: World) -> None:
    wanted = {**TYPE, **WORK, "UniqueRequestToken": "t1"}
    hit_id = world.client.create_hit(**wanted)["HIT"]["HITId"]

    with pytest.raises(ClientError, match=f'The HIT with ID "{hit_id}" already exists.'):
        world.client.create_hit(**wanted)

    assert world.stranger.create_hit(**wanted)["HIT"]["HITId"] != hit_id
    assert len(world.client.list_hits()["HITs"]) == 1


# --- The documentation --------------------------------------------------------------------------------------


def documented() -> dict[tuple[str, str], set[str]]:
    """The words "seen", "named" and "ours" of every row, by type and code."""
    rows: dict[tuple[str, str], set[str]] = {}
    for line in Path(DOCUMENT).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            kind, code, _, source = cells
            rows[kind.strip("`"), code.strip("`")] = set(re.findall(r"\b(seen|named|ours)\b", source))
    return rows


def test_the_documentation_has_every_code_and_where_it_is_from() -> None:
    expected: dict[tuple[str, str], set[str]] = {}
    for case in (case for case in REFUSALS if case.code):
        at = case.kind, case.code.removeprefix("AWS.MechanicalTurk.")
        expected.setdefault(at, set()).add(case.source.partition(":")[0])

    rows = documented()

    assert {at: rows.get(at) for at in expected} == expected


def test_every_source_says_what_it_is() -> None:
    assert {case.source.partition(":")[0] for case in REFUSALS} <= {"seen", "named", "ours"}


def test_every_public_thread_of_the_tests_is_in_the_documentation() -> None:
    threads: set[Any] = {each for case in REFUSALS for each in re.findall(r"[\w.-]+/[\w.-]+#\d+", case.source)}
    text = DOCUMENT.read_text()

    assert [each for each in sorted(threads) if each not in text] == []
