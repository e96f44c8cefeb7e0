"""What this server needs to know about the provider of single sign-on."""

from __future__ import annotations

from dataclasses import dataclass, field

SCOPES = ("openid", "email", "profile")


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that speaks OpenID Connect. Its addresses come from its own description, below ``issuer``.

    ``domains`` are those of e-mail addresses that it may sign in; without any, all. Members of ``admin_group``, a value
    of the claim ``admin_claim``, are administrators. ``creates``: who has no account here gets one.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name: str
    scopes: tuple[str, ...] = SCOPES
    domains: tuple[str, ...] = ()
    admin_claim: str = "groups"
    admin_group: str = ""
    creates: bool = False
