"""The settings of single sign-on: what is refused, and what the parts of each mean."""

from __future__ import annotations

import pytest

from hitserver.env import Env, EnvError
from hitserver.sign_in_settings import provider

WHOLE = {
    "HITSERVER_OIDC_ISSUER": "https://login.uni.example/staff",
    "HITSERVER_OIDC_CLIENT_ID": "hitserver",
    "HITSERVER_OIDC_CLIENT_SECRET": "top secret",
}


def test_without_an_issuer_there_is_none() -> None:
    assert provider(Env({}), production=True) is None


def test_the_parts_of_a_provider() -> None:
    more = {"HITSERVER_OIDC_DOMAINS": "@Uni.example, lab.example", "HITSERVER_OIDC_ADMIN_GROUP": "roles=admins"}
    made = provider(Env(WHOLE | more | {"HITSERVER_OIDC_CREATE": "1"}), production=True)
    assert made is not None and made.creates
    assert (made.name, made.domains) == ("login.uni.example", ("uni.example", "lab.example"))
    assert (made.admin_claim, made.admin_group) == ("roles", "admins")
    assert "top secret" not in repr(made)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"HITSERVER_OIDC_CLIENT_ID": ""}, "HITSERVER_OIDC_CLIENT_ID"),
        ({"HITSERVER_OIDC_CLIENT_SECRET": ""}, "HITSERVER_OIDC_CLIENT_SECRET"),
        ({"HITSERVER_OIDC_ISSUER": "http://login.uni.example"}, "HITSERVER_OIDC_ISSUER"),
        ({"HITSERVER_OIDC_SCOPES": "email"}, "HITSERVER_OIDC_SCOPES"),
        ({"HITSERVER_OIDC_CREATE": "1"}, "HITSERVER_OIDC_DOMAINS"),
        ({"HITSERVER_OIDC_ISSUER": "", "HITSERVER_OIDC_ONLY": "1"}, "HITSERVER_OIDC_ISSUER"),
    ],
)
def test_half_of_it_is_refused(changes: dict[str, str], name: str) -> None:
    with pytest.raises(EnvError, match=name) as refused:
        provider(Env(WHOLE | changes), production=True)
    assert "top secret" not in str(refused.value)
