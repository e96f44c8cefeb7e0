"""The settings of single sign-on: all of them, or none."""

from __future__ import annotations

from urllib.parse import urlsplit

from accounts.provider import SCOPES, Provider
from hitserver.env import Env, EnvError


def provider(env: Env, *, production: bool) -> Provider | None:
    """The provider that researchers sign in at; None without an issuer. Raises EnvError."""
    schemes = ("https",) if production else ("https", "http")
    issuer = env.url("HITSERVER_OIDC_ISSUER", "", schemes=schemes)
    client_id, client_secret = env.text("HITSERVER_OIDC_CLIENT_ID", ""), env.secret("HITSERVER_OIDC_CLIENT_SECRET", "")
    name = env.text("HITSERVER_OIDC_NAME", urlsplit(issuer).hostname or "")
    scopes = env.text("HITSERVER_OIDC_SCOPES", " ".join(SCOPES)).split()
    domains = tuple(domain.lower().lstrip("@") for domain in env.items("HITSERVER_OIDC_DOMAINS"))
    group = env.text("HITSERVER_OIDC_ADMIN_GROUP", "")
    creates = env.flag("HITSERVER_OIDC_CREATE", False)
    if not issuer:
        if env.flag("HITSERVER_OIDC_ONLY", False):
            accepts = "the address of the provider, because HITSERVER_OIDC_ONLY is on"
            raise EnvError("HITSERVER_OIDC_ISSUER", None, accepts)
        return None
    for variable, value in (("CLIENT_ID", client_id), ("CLIENT_SECRET", client_secret)):
        if not value:
            raise EnvError(f"HITSERVER_OIDC_{variable}", None, "what the provider gave you for this server")
    if "openid" not in scopes:
        raise EnvError("HITSERVER_OIDC_SCOPES", " ".join(scopes), "names with spaces between them, openid among them")
    if creates and not domains:
        accepts = "the domains whose people get an account, because HITSERVER_OIDC_CREATE is on"
        raise EnvError("HITSERVER_OIDC_DOMAINS", None, accepts)
    claim, _, value = group.rpartition("=")
    return Provider(
        issuer=issuer,
        client_id=client_id,
        client_secret=client_secret,
        name=name,
        scopes=tuple(scopes),
        domains=domains,
        admin_claim=claim or "groups",
        admin_group=value,
        creates=creates,
    )
