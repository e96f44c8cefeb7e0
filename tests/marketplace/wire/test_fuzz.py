"""Whatever arrives is answered with 4xx in AWS's shape, never with 500."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from marketplace.wire import service
from tests.marketplace.wire.clients import Answer, Key, call, send, signed_headers

pytestmark = pytest.mark.django_db(transaction=True)
FEW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["", "0.05", "3A", "\x00", "é"])
)
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def of_shape(shape: Any) -> SearchStrategy[Any]:
    """Mostly what the model wants, sometimes anything else."""
    return st.one_of(right(shape), right(shape), right(shape), ANYTHING)


def right(shape: Any) -> SearchStrategy[Any]:
    if shape.type_name == "structure":
        members = {name: of_shape(member) for name, member in shape.members.items()}
        required = {name: members.pop(name) for name in shape.required_members}
        return st.fixed_dictionaries(required, optional=members)
    if shape.type_name == "list":
        return st.lists(of_shape(shape.member), max_size=3)
    if shape.type_name == "string":
        return (
            st.sampled_from(shape.enum) if shape.enum else st.text(max_size=70) | st.sampled_from(["3A", "0.05", "A1"])
        )
    if shape.type_name == "boolean":
        return st.booleans()
    return st.integers(-(2**70), 2**70) | st.integers(0, 100)


def assert_no_fault(answer: Answer) -> None:
    assert answer.status == 200 or 400 <= answer.status < 500, answer.body
    content = answer.json()
    if answer.status != 200:
        assert isinstance(content["__type"], str)
        assert content.get("message") or content["Message"]


@FEW
@given(body=st.binary() | ANYTHING.map(lambda value: json.dumps(value).encode()))
@pytest.mark.parametrize("operation", ["CreateHIT", "GetHIT"])
def test_any_body(base_url: str, key: Key, operation: str, body: bytes) -> None:
    assert_no_fault(call(base_url, key, operation, body))


@pytest.mark.parametrize("operation", sorted(service.operations()))
def test_values_of_every_kind_in_every_operation(base_url: str, key: Key, operation: str) -> None:
    @settings(FEW, max_examples=40)
    @given(body=right(service.operation_model(operation).input_shape))
    def probe(body: Any) -> None:
        assert_no_fault(call(base_url, key, operation, json.dumps(body).encode()))

    probe()


@FEW
@given(data=st.data())
def test_a_valid_request_that_was_tampered_with_is_never_carried_out(base_url: str, key: Key, data: Any) -> None:
    headers = signed_headers(base_url, key, b"{}", target="MTurkRequesterServiceV20170117.GetAccountBalance")
    name = data.draw(st.sampled_from(["Authorization", "X-Amz-Date", "X-Amz-Target"]))
    value = headers[name]
    place = data.draw(st.integers(0, len(value) - 1))
    character = data.draw(st.sampled_from("aZ09/=,; .-"))
    changed = value[:place] + character + value[place + 1 :]
    if changed.lower() == value.lower() or changed.split() == value.split():
        return

    answer = send(base_url, b"{}", {**headers, name: changed})

    assert_no_fault(answer)
    assert answer.status != 200, changed


@FEW
@given(text=st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=200))
def test_any_authorization(base_url: str, text: str) -> None:
    for header in (
        text,
        f"AWS4-HMAC-SHA256 {text}",
        f"AWS4-HMAC-SHA256 Credential={text}, SignedHeaders=host, Signature=a",
    ):
        answer = send(base_url, b"{}", {"Authorization": header.strip(), "X-Amz-Date": "20260101T000000Z"})

        assert_no_fault(answer)
        assert answer.status == 400
