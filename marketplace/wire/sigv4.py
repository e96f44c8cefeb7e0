"""Who signed a request: AWS Signature Version 4 in the Authorization header.

The signature covers the method, the path, the headers it names and the hash of the body, and it names a day, a region
and a service. Here the hash is computed from the body, never taken from the client. The host and every x-amz-* header
must be signed, and the time can differ by five minutes. It is compared with the machine's time, even if tests have
moved the marketplace's clock, because clients sign with theirs.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NoReturn
from urllib.parse import quote

from marketplace.wire.errors import AuthenticationError

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW = timedelta(minutes=5)
TIME_FORMAT = "%Y%m%dT%H%M%SZ"
TIME = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII)
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
)


@dataclass(frozen=True, slots=True)
class Request:
    """What a signature covers. Header names are in lower case; the path is exactly as it was sent."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """The parts of an Authorization header: who claims to have signed what, when, and for which service."""

    access_key_id: str
    date: str
    region: str
    service: str
    signed_headers: tuple[str, ...]
    signature: str

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/aws4_request"


def read_claim(request: Request) -> Claim:
    """The parts of the header. Raises AuthenticationError if one is missing or invalid."""
    header = request.headers.get("authorization", "")
    if not header:
        raise AuthenticationError("MissingAuthenticationTokenException", "Missing Authentication Token")
    algorithm, _, credentials = header.partition(" ")
    if algorithm != ALGORITHM:
        _incomplete(f"The Authorization header must begin with {ALGORITHM}.")
    fields = credentials.split(",")
    parts = dict(part.strip().partition("=")[::2] for part in fields)
    for name in ("Credential", "SignedHeaders", "Signature"):
        if not parts.get(name):
            _incomplete(f"Authorization header requires '{name}' parameter.")
    if len(fields) != 3:
        _incomplete("Authorization header takes Credential, SignedHeaders and Signature and nothing else.")
    credential = parts["Credential"].split("/")
    if len(credential) != 5 or credential[4] != "aws4_request":
        _incomplete("Credential must have five parts, key/date/region/service/aws4_request.")
    signed = tuple(parts["SignedHeaders"].split(";"))
    key_id, date, region, service, _ = credential
    return Claim(key_id, date, region, service, signed_headers=signed, signature=parts["Signature"])


def check_claim(claim: Claim, request: Request, *, now: datetime, region: str, service: str) -> datetime:
    """Checks what no secret could fix: scope, unsigned headers, time. Returns when it was signed, or refuses it."""
    if "x-amz-security-token" in request.headers:
        raise unrecognized()
    if claim.region != region:
        _invalid(f"Credential should be scoped to a valid region, not '{claim.region}'. ")
    if claim.service != service:
        _invalid(f"Credential should be scoped to correct service: '{service}'. ")
    must_be_signed = {"host", *(name for name in request.headers if name.startswith("x-amz-"))}
    if missing := must_be_signed - set(claim.signed_headers):
        _invalid(f"'{', '.join(sorted(missing))}' must be a 'SignedHeader' in the AWS Authorization.")
    if absent := set(claim.signed_headers) - set(request.headers):
        _invalid(f"The signed headers {', '.join(sorted(absent))} are not in the request.")
    claimed_hash = request.headers.get("x-amz-content-sha256")
    if claimed_hash is not None and not hmac.compare_digest(claimed_hash.encode(), _hash(request.body).encode()):
        _invalid("The value of x-amz-content-sha256 is not the hash of the body.")
    text = request.headers.get("x-amz-date", "")
    if not TIME.fullmatch(text):
        _incomplete("The request needs an 'X-Amz-Date' header such as 20260131T235959Z.")
    try:
        signed_at = datetime.strptime(text, TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        _incomplete(f"The date {text} does not exist.")
    if text[:8] != claim.date:
        _invalid("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.")
    server_time = now.strftime(TIME_FORMAT)
    if signed_at < now - SKEW:
        bound = (now - SKEW).strftime(TIME_FORMAT)
        _invalid(f"Signature expired: {text} is now earlier than {bound} ({server_time} - 5 min.)")
    if signed_at > now + SKEW:
        bound = (now + SKEW).strftime(TIME_FORMAT)
        _invalid(f"Signature not yet current: {text} is still later than {bound} ({server_time} + 5 min.)")
    return signed_at


def verify(claim: Claim, request: Request, *, secret: str) -> None:
    """Refuses a signature that was not made with this secret."""
    expected = signature(claim, request, secret=secret)
    if not hmac.compare_digest(expected.encode(), claim.signature.encode()):
        _invalid(MISMATCH)


def signature(claim: Claim, request: Request, *, secret: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in (claim.date, claim.region, claim.service, "aws4_request"):
        key = _mac(key, part)
    when = request.headers.get("x-amz-date", "")
    text = "\n".join((ALGORITHM, when, claim.scope, _hash(canonical_request(claim, request).encode())))
    return _mac(key, text).hex()


def canonical_request(claim: Claim, request: Request) -> str:
    headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in claim.signed_headers)
    pairs = sorted(part.partition("=")[::2] for part in request.query.split("&") if part)
    query = "&".join("=".join(pair) for pair in pairs)
    signed = ";".join(claim.signed_headers)
    # For every service except S3, the signed path is escaped once more than the path that was sent.
    path = quote(request.path, safe="/~") or "/"
    return "\n".join((request.method, path, query, headers, signed, _hash(request.body)))


def unrecognized() -> AuthenticationError:
    """No key with that ID is in use here. AWS uses this error too, so it also shows which keys are unknown."""
    return AuthenticationError("UnrecognizedClientException", "The security token included in the request is invalid.")


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _incomplete(message: str) -> NoReturn:
    raise AuthenticationError("IncompleteSignatureException", message)


def _invalid(message: str) -> NoReturn:
    raise AuthenticationError("InvalidSignatureException", message.strip())
