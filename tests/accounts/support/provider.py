"""A provider as OpenID Connect Core 1.0, Discovery 1.0 and RFC 7636 describe it, with faults that tests switch on."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from accounts.models import LogEntry
from accounts.provider import Provider

CLIENT_ID, CLIENT_SECRET = "hitserver at the lab", "s3cret & more"
RSA = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
EC = ECKey.generate_key("P-256", {"kid": "ec", "use": "sig", "alg": "ES256"})
STRANGER = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class FakeProvider:
    """``person`` has the claims of whoever signs in, ``claims`` those that replace them in the ID token."""

    def __init__(self, address: str) -> None:
        self.issuer = address
        self.person: dict[str, Any] = {"sub": "248289761001", "email": "ann@uni.example", "email_verified": True}
        self.claims: dict[str, Any] = {}
        self.key: Any = RSA
        self.algorithm = "RS256"
        self.described: dict[str, Any] = {}
        self.status = 200
        self.only_userinfo = False
        self.asked: list[dict[str, str]] = []
        self._codes: dict[str, dict[str, str]] = {}

    def description(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/logout",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        } | self.described

    def authorize(self, address: str) -> dict[str, str]:
        """Somebody signs in at this address: the parameters with which the browser comes back."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(address).query, strict_parsing=True).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert query["response_type"] == "code" and query["client_id"] == CLIENT_ID
        assert query["code_challenge_method"] == "S256" and "openid" in query["scope"].split()
        code = secrets.token_urlsafe(8)
        self._codes[code] = query
        self.asked.append(query)
        return {"code": code, "state": query["state"]}

    def tokens(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """The answer of the token endpoint. A code is redeemed once, by whoever asked for it."""
        shown = [form.get("client_id", ""), form.get("client_secret", "")]
        if authorization:
            shown = [unquote(p) for p in base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")]
        if shown != [CLIENT_ID, CLIENT_SECRET]:
            return 401, {"error": "invalid_client"}
        query = self._codes.pop(form["code"], None)
        challenge = _encoded(hashlib.sha256(form["code_verifier"].encode()).digest())
        if query is None or query["redirect_uri"] != form["redirect_uri"] or query["code_challenge"] != challenge:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": query["nonce"]}
        if "max_age" in query:
            claims["auth_time"] = now
        claims |= {"sub": self.person["sub"]} if self.only_userinfo else self.person
        claims = {name: value for name, value in (claims | self.claims).items() if value is not None}
        return 200, {"access_token": "at", "token_type": "Bearer", "id_token": self._signed(claims)}

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.algorithm in ("none", "HS256"):  # HS256: with what everybody knows, the public key
            signed = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": self.algorithm}, claims))
            proof = hmac.digest(RSA.as_pem(private=False), signed.encode(), "sha256")
            return f"{signed}.{_encoded(proof) if self.algorithm == 'HS256' else ''}"
        header = {"alg": self.algorithm, "kid": self.key.kid}
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


@contextmanager
def running_provider() -> Iterator[FakeProvider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            answers: dict[str, Any] = {
                "/.well-known/openid-configuration": provider.description(),
                "/keys": {"keys": [key.as_dict(private=False) for key in (EC, RSA)]},
                "/userinfo": provider.person,
            }
            if path == "/userinfo" and self.headers["Authorization"] != "Bearer at":
                self.answer(401, {"error": "invalid_token"})
            else:
                self.answer(provider.status if path in answers else 404, answers.get(path, {}))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body, keep_blank_values=True).items()}
            self.answer(*provider.tokens(form, self.headers.get("Authorization", "")))

        def answer(self, status: int, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Not into the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = FakeProvider(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


def settings_for(provider: FakeProvider, **changes: Any) -> Provider:
    values = {"issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "name": "University X"}
    return Provider(**(values | changes))


def sign_on(provider: FakeProvider, client: Client, start: str = "", **answer: str) -> HttpResponse:
    """A whole way there and back; ``answer`` replaces parameters with which the browser comes back."""
    there = client.get(reverse("console_sso") + start)
    assert there.status_code == 302, there.content.decode()
    return come_back(client, provider.authorize(there["Location"]) | answer)


def come_back(client: Client, answer: dict[str, str]) -> HttpResponse:
    return client.get(f"{reverse('console_sso_done')}?{urlencode(answer)}")  # type: ignore[return-value]


def why(response: HttpResponse) -> str:
    """The reason that the log has for a refusal, after checking that the page is one that helps."""
    text = response.content.decode()
    assert "You are not signed in" in text and "Try again with University X" in text
    return str(LogEntry.objects.filter(action="sign-in refused").latest("pk").detail["reason"])
