"""The endpoint over real HTTP: who is let in, what errors look like, what a limit does."""

import re
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError
from django.utils import timezone

from marketplace.models import AccessKey, Requester
from marketplace.operations import registry
from marketplace.services.accounts import requester_accounts
from marketplace.wire import service
from tests.marketplace.support.clients import Key, boto3_client, call, send, signed_headers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]
BALANCE = "MTurkRequesterServiceV20170117.GetAccountBalance"


def error_of(client: Any, operation: str = "get_account_balance", **parameters: Any) -> dict[str, Any]:
    with pytest.raises(ClientError) as refused:
        getattr(client, operation)(**parameters)
    response: dict[str, Any] = refused.value.response
    return response


def test_a_signed_request_is_answered(client: Any) -> None:
    answer = client.get_account_balance()

    assert answer["AvailableBalance"] == "1000.00"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert re.fullmatch(r"[0-9a-f-]{36}", answer["ResponseMetadata"]["RequestId"])
    assert answer["ResponseMetadata"]["HTTPHeaders"]["content-type"] == "application/x-amz-json-1.1"


def test_the_last_use_of_a_key_is_noted(client: Any, key: Key) -> None:
    client.get_account_balance()

    used = AccessKey.objects.get(access_key_id=key.access_key_id).last_used_at
    assert used is not None
    assert abs((timezone.now() - used).total_seconds()) < 60


@pytest.mark.parametrize("operation", sorted(service.operations()))
def test_no_operation_is_open_to_strangers(operation: str, base_url: str, key: Key) -> None:
    unsigned = send(base_url, b"{}", {"X-Amz-Target": f"MTurkRequesterServiceV20170117.{operation}"})
    wrong = call(base_url, Key(key.access_key_id, "wrong"), operation)

    assert (unsigned.status, unsigned.json()["__type"]) == (400, "MissingAuthenticationTokenException")
    assert (wrong.status, wrong.json()["__type"]) == (400, "InvalidSignatureException")


def test_keys_that_are_unknown_revoked_or_unreadable_look_the_same(base_url: str, requester: Requester) -> None:
    revoked = requester_accounts.create_access_key(requester=requester, actor="test")
    requester_accounts.revoke_access_key(key=revoked.key, actor="test")
    unreadable = requester_accounts.create_access_key(requester=requester, actor="test")
    AccessKey.objects.filter(pk=unreadable.key.pk).update(secret_sealed="gAAAA")
    keys = [Key("AKIAUNKNOWN", "s"), *(Key(new.key.access_key_id, new.secret) for new in (revoked, unreadable))]

    errors = [error_of(boto3_client(base_url, key))["Error"] for key in keys]

    assert errors[0]["Code"] == "UnrecognizedClientException"
    assert errors[0] == errors[1] == errors[2]


def test_a_closed_account_is_denied(client: Any, requester: Requester) -> None:
    requester_accounts.set_requester_active(requester=requester, active=False, actor="test")

    assert error_of(client)["Error"]["Code"] == "AccessDeniedException"


def test_the_database_alone_signs_nothing(key: Key) -> None:
    row = AccessKey.objects.get(access_key_id=key.access_key_id)

    assert key.secret not in str(row.__dict__)


def test_another_region_is_refused(base_url: str, key: Key) -> None:
    assert "valid region" in error_of(boto3_client(base_url, key, region="eu-west-1"))["Error"]["Message"]


def test_a_changed_body_is_refused(base_url: str, key: Key) -> None:
    headers = signed_headers(base_url, key, b"{}", target=BALANCE)

    assert send(base_url, b"{}", headers).status == 200
    answer = send(base_url, b'{"a":1}', headers)
    assert (answer.status, answer.json()["__type"]) == (400, "InvalidSignatureException")


def test_a_changed_operation_is_refused(base_url: str, key: Key) -> None:
    headers = signed_headers(base_url, key, b"{}", target=BALANCE)
    headers["X-Amz-Target"] = "MTurkRequesterServiceV20170117.ListHITs"

    assert send(base_url, b"{}", headers).json()["__type"] == "InvalidSignatureException"


def test_a_request_signed_yesterday_is_refused(base_url: str, key: Key) -> None:
    """With the type and the words of AWS's JSON services: aws/aws-sdk-php#1780."""
    yesterday = timezone.now() - timedelta(days=1)
    with patch("botocore.auth.get_current_datetime", return_value=yesterday.replace(tzinfo=None)):
        answer = call(base_url, key, "GetAccountBalance")

    assert (answer.status, answer.json()["__type"]) == (400, "InvalidSignatureException")
    words = r"Signature expired: \d{8}T\d{6}Z is now earlier than \d{8}T\d{6}Z \(\d{8}T\d{6}Z - 5 min\.\)"
    assert re.fullmatch(words, answer.json()["message"])


def test_an_unknown_operation_is_named_as_unknown(base_url: str, key: Key) -> None:
    answer = call(base_url, key, "", target="MTurkRequesterServiceV20170117.GetEverything")

    assert (answer.status, answer.json()["__type"]) == (400, "UnknownOperationException")


@pytest.mark.parametrize("path", ["/marketplace/api", "/marketplace/api/"])
def test_the_address_works_with_and_without_a_slash_at_its_end(base_url: str, key: Key, path: str) -> None:
    """Clients sign the address as they were given it, so a redirection to the other would not do."""
    assert boto3_client(base_url, key, path=path).get_account_balance()["AvailableBalance"] == "1000.00"


@pytest.mark.parametrize("path", ["/marketplace/apis", "/marketplace/api/x", "/marketplace/api//"])
def test_other_addresses_are_not_the_endpoint(base_url: str, key: Key, path: str) -> None:
    with pytest.raises(ClientError) as refused:
        boto3_client(base_url, key, path=path).get_account_balance()

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] in (403, 404)


@pytest.mark.parametrize("host", ["elsewhere.example", "localhost.evil.example", "a b", "", "127.0.0.1:x"])
def test_another_host_name_is_refused_in_the_shape_of_the_api(base_url: str, key: Key, host: str) -> None:
    headers = signed_headers(base_url, key, b"{}", target=BALANCE)

    answer = send(base_url, b"{}", {**headers, "Host": host})

    assert answer.headers["Content-Type"] == "application/x-amz-json-1.1"
    assert (answer.status, answer.json()["__type"]) == (400, "InvalidHostException")
    assert "HITSERVER_ALLOWED_HOSTS" in answer.json()["message"]


def test_where_only_https_is_let_in_the_endpoint_says_so(base_url: str, key: Key, settings: Any) -> None:
    """Not with a redirection, which boto3 takes for an error without a reason."""
    settings.SECURE_SSL_REDIRECT = True

    answer = call(base_url, key, "GetAccountBalance")

    assert (answer.status, answer.json()["__type"]) == (403, "InsecureTransportException")


def test_the_endpoint_sets_no_cookie_and_asks_for_none(base_url: str, key: Key) -> None:
    answer = call(base_url, key, "GetAccountBalance")

    assert answer.status == 200
    assert not {"Set-Cookie", "Vary"} & set(answer.headers)
    assert answer.headers["Cache-Control"] == "no-store"


def test_only_post_is_taken(base_url: str) -> None:
    answer = send(base_url, b"", {}, method="GET")

    assert (answer.status, answer.json()["__type"]) == (405, "MethodNotAllowedException")


def test_a_request_may_not_be_larger_than_any_could_need(base_url: str, key: Key) -> None:
    answer = call(base_url, key, "CreateHIT", {"Question": "x" * 3_200_000})

    assert (answer.status, answer.json()["__type"]) == (413, "RequestEntityTooLargeException")


def test_a_refusal_has_the_shape_that_amazon_gives_it(client: Any) -> None:
    response = error_of(client, "get_hit", HITId="3NOSUCH")

    assert response["Error"]["Code"] == "RequestError"
    assert response["TurkErrorCode"] == "AWS.MechanicalTurk.HITDoesNotExist"
    assert re.search(r"3NOSUCH .* \(\d{13} s AWS\.MechanicalTurk\.HITDoesNotExist\)$", response["Error"]["Message"])
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_boto3_raises_the_exception_of_the_model(client: Any) -> None:
    with pytest.raises(client.exceptions.RequestError):
        client.get_hit(HITId="3NOSUCH")


def test_an_error_of_the_server_is_a_fault_without_details(client: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(call: registry.Call) -> dict[str, Any]:
        raise RuntimeError("the secret reason")

    with patch.dict(registry.handlers(), GetAccountBalance=broken):
        response = error_of(client)

    assert response["Error"]["Code"] == "ServiceFault"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert "secret reason" not in str(response)
    assert "secret reason" in caplog.text
