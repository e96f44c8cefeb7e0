"""Single sign-on by OpenID Connect: the way to the provider and back, and what is believed of what it says.

Authorization code flow with PKCE (RFC 7636), state and nonce (OpenID Connect Core 1.0, section 3.1). The provider's
addresses and keys come from its description (Discovery 1.0) at each sign-in, so that its new keys are known at once.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import urllib3
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django.views.decorators.debug import sensitive_variables

from accounts.provider import Provider

logger = logging.getLogger(__name__)
#: Where a session keeps the way to the provider that somebody is on.
JOURNEY = "_single_sign_on"
MOST_SECONDS = 600
#: Clocks of provider and server may differ by this much.
LEEWAY_SECONDS = 60
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
LONGEST_ANSWER = 1_000_000
#: What RFC 8176 calls it if somebody has shown several factors.
SEVERAL_FACTORS = "mfa"
NOTHING_HAPPENED = "Nobody was signed in."


class SignOnRefused(Exception):
    """Nobody was signed in. ``what`` happened and how to ``fix`` it are for the page, ``reason`` for the log."""

    def __init__(self, what: str, fix: str, *, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.what, self.fix, self.reason, self.status = what, fix, reason, status


AGAIN = "Start again from the sign-in page. If it happens again, tell the administrator of this server."


def _untrustworthy(reason: str) -> SignOnRefused:
    return SignOnRefused("The provider’s answer cannot be trusted.", AGAIN, reason=reason)


@dataclass(frozen=True, slots=True)
class Claims:
    """What the provider says about somebody. ``email`` is empty unless it has verified the address."""

    issuer: str
    subject: str
    email: str = ""
    unverified_email: str = ""
    username: str = ""
    groups: frozenset[str] = frozenset()
    several_factors: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody who came back from the provider. ``kept`` is what `begin` was given, ``sign_out`` where and with which
    token they can sign out there, too."""

    claims: Claims
    kept: dict[str, Any]
    sign_out: dict[str, str] = field(repr=False)


# --- there ------------------------------------------------------------------------------------------------------------


def begin(request: HttpRequest, provider: Provider, *, callback: str, again: bool = False, **kept: Any) -> str:
    """The address at the provider where somebody signs in. ``again``: even if they are signed in there.

    ``kept`` comes back with them. Raises SignOnRefused if the provider cannot be reached.
    """
    described = describe(provider)
    verifier = secrets.token_urlsafe(48)
    journey = {
        "state": secrets.token_urlsafe(24),
        "nonce": secrets.token_urlsafe(24),
        "verifier": verifier,
        "at": time.time(),
        "again": again,
        "kept": kept,
    }
    request.session[JOURNEY] = journey
    digest = hashlib.sha256(verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": callback,
        "scope": " ".join(provider.scopes),
        "state": journey["state"],
        "nonce": journey["nonce"],
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    if again:
        query |= {"prompt": "login", "max_age": "0"}
    address = described["authorization_endpoint"]
    return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(query)}"


# --- and back ---------------------------------------------------------------------------------------------------------


@sensitive_variables()
def finish(request: HttpRequest, provider: Provider, *, callback: str) -> Arrival:
    """Who came back with this request. It works once for each `begin`. Raises SignOnRefused."""
    journey, answer = request.session.pop(JOURNEY, None), request.GET
    if journey is None or not constant_time_compare(answer.get("state", ""), journey["state"]):
        what = "This sign-in was not started in this browser, or it was used before."
        raise SignOnRefused(what, AGAIN, reason="state does not match")
    if time.time() - journey["at"] > MOST_SECONDS:
        raise SignOnRefused("That took too long.", "Start again from the sign-in page.", reason="too late")
    if answer.get("iss", provider.issuer) != provider.issuer:  # RFC 9207
        raise _untrustworthy("the answer is of another issuer")
    if "error" in answer:
        what = f"{provider.name} did not sign you in."
        reason = f"the provider answered {answer['error'][:60]!r}"
        raise SignOnRefused(what, "Try again, or ask the people who run it.", reason=reason, status=403)
    described = describe(provider)
    sent = {
        "grant_type": "authorization_code",
        "code": answer.get("code", ""),
        "redirect_uri": callback,
        "code_verifier": journey["verifier"],
    }
    tokens = _redeem_code(provider, described, sent)
    id_token = tokens.get("id_token")
    if not isinstance(id_token, str):
        raise _untrustworthy("there is no ID token")
    claims = read_id_token(id_token, provider, keys=_get(described["jwks_uri"], provider))
    if not constant_time_compare(str(claims.get("nonce", "")), journey["nonce"]):
        raise _untrustworthy("the nonce does not match")
    if journey["again"] and not _is_number(claims.get("auth_time"), at_least=journey["at"] - LEEWAY_SECONDS):
        what = f"{provider.name} did not ask you to sign in again."
        raise SignOnRefused(what, "Sign out there, then sign in here again.", reason="auth_time is too old", status=403)
    if "email" not in claims and "email" in provider.scopes and "userinfo_endpoint" in described:
        authorization = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
        more = _get(described["userinfo_endpoint"], provider, headers=authorization)
        if more.get("sub") != claims["sub"]:
            raise _untrustworthy("userinfo is about somebody else")
        claims = more | claims
    sign_out = {"id_token": id_token, "address": described.get("end_session_endpoint", "")}
    return Arrival(_claims(claims, provider), journey["kept"], sign_out)


@sensitive_variables()
def _redeem_code(provider: Provider, described: Mapping[str, Any], sent: dict[str, str]) -> dict[str, Any]:
    """The tokens for the code, with the way of showing the secret that the provider knows."""
    headers = {}
    if "client_secret_basic" in described.get("token_endpoint_auth_methods_supported", ["client_secret_basic"]):
        pair = f"{quote(provider.client_id, safe='')}:{quote(provider.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        sent = sent | {"client_id": provider.client_id, "client_secret": provider.client_secret}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    return _ask("POST", described["token_endpoint"], provider, headers=headers, body=urlencode(sent))


@sensitive_variables()
def read_id_token(id_token: str, provider: Provider, *, keys: dict[str, Any]) -> dict[str, Any]:
    """The claims of an ID token whose signature, issuer, audience and times are right. Raises SignOnRefused."""
    from joserfc import jwt  # only who signs in at a provider needs it
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    signing = [key for key in keys.get("keys", []) if isinstance(key, dict) and key.get("use", "sig") == "sig"]
    try:
        token = jwt.decode(id_token, KeySet.import_key_set({"keys": signing}), algorithms=ALGORITHMS)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _untrustworthy(f"the ID token’s signature: {error}") from None
    claims, now = token.claims, time.time()
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if claims.get("iss") != provider.issuer:
        raise _untrustworthy("the ID token is of another issuer")
    if provider.client_id not in audiences or (len(audiences) > 1 and claims.get("azp") != provider.client_id):
        raise _untrustworthy("the ID token is for somebody else")
    if claims.get("azp", provider.client_id) != provider.client_id:
        raise _untrustworthy("the ID token is for somebody else")
    if not _is_number(claims.get("exp"), at_least=now - LEEWAY_SECONDS):
        raise _untrustworthy("the ID token has expired")
    if not _is_number(claims.get("iat"), at_most=now + LEEWAY_SECONDS):
        raise _untrustworthy("the ID token is from the future")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise _untrustworthy("the ID token is about nobody")
    return dict(claims)


def _is_number(value: object, *, at_least: float = float("-inf"), at_most: float = float("inf")) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and at_least <= value <= at_most


def _claims(claims: Mapping[str, Any], provider: Provider) -> Claims:
    email = str(claims.get("email") or "")[:254]
    verified = claims.get("email_verified") is True
    groups = claims.get(provider.admin_claim, [])
    methods = claims.get("amr", [])
    return Claims(
        issuer=provider.issuer,
        subject=claims["sub"],
        email=email if verified else "",
        unverified_email="" if verified else email,
        username=str(claims.get("preferred_username") or ""),
        groups=frozenset(map(str, groups if isinstance(groups, list) else [groups])),
        several_factors=isinstance(methods, list) and SEVERAL_FACTORS in methods,
    )


def sign_out_address(sign_out: Mapping[str, str], *, back: str) -> str:
    """Where somebody ends their session at the provider; empty if it does not offer that (RP-Initiated Logout 1.0)."""
    if not sign_out.get("address"):
        return ""
    query = urlencode({"id_token_hint": sign_out["id_token"], "post_logout_redirect_uri": back})
    return f"{sign_out['address']}{'&' if urlsplit(sign_out['address']).query else '?'}{query}"


# --- the provider -----------------------------------------------------------------------------------------------------


def describe(provider: Provider) -> dict[str, Any]:
    """The provider's description of itself, with the addresses that this server needs. Raises SignOnRefused."""
    described = _get(provider.issuer.rstrip("/") + "/.well-known/openid-configuration", provider)
    if described.get("issuer") != provider.issuer:
        raise _untrustworthy(f"the description is of another issuer, {str(described.get('issuer'))[:100]!r}")
    scheme = urlsplit(provider.issuer).scheme
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        address = described.get(name)
        if not isinstance(address, str) or (scheme == "https" and not address.startswith("https://")):
            raise _untrustworthy(f"its {name} is {address!r}")
    return described


@cache
def _connections() -> urllib3.PoolManager:
    return urllib3.PoolManager(timeout=urllib3.Timeout(connect=5, read=10), retries=False)


def _get(address: str, provider: Provider, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    return _ask("GET", address, provider, headers=headers or {})


@sensitive_variables()
def _ask(
    method: str, address: str, provider: Provider, *, headers: Mapping[str, str], body: str | None = None
) -> dict[str, Any]:
    """The JSON object that the provider answers. Follows no redirect. Raises SignOnRefused."""
    what = f"{provider.name} cannot be reached at the moment."
    try:
        response = _connections().request(
            method, address, headers={"Accept": "application/json", **headers}, body=body, redirect=False,
            preload_content=False,
        )  # fmt: skip
        text, status = response.read(LONGEST_ANSWER), response.status
        response.release_conn()
    except urllib3.exceptions.HTTPError as error:
        fix = "Try again in a few minutes."
        raise SignOnRefused(what, fix, reason=f"{address}: {type(error).__name__}", status=502) from None
    if status >= 500:
        raise SignOnRefused(what, "Try again in a few minutes.", reason=f"{address}: status {status}", status=502)
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if status != 200 or not isinstance(answer, dict):
        code = answer.get("error", "") if isinstance(answer, dict) else ""
        reason = f"{address}: {status} {code}"[:300]
        raise SignOnRefused(f"{provider.name} refused this sign-in.", AGAIN, reason=reason)
    return answer
