"""How the JSON API identifies its callers."""

from __future__ import annotations

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts import tokens
from accounts.models import ApiToken
from common.words import moment_in_utc

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """Reads ``Authorization: Bearer hits_…``. The token is then ``request.auth``.

    Raises AuthenticationFailed for an unknown, revoked or expired token.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).decode("latin-1").split()
        if not parts or parts[0].lower() != SCHEME.lower():
            return None
        token = tokens.find_token(parts[1]) if len(parts) == 2 else None
        if token is None:
            raise AuthenticationFailed("This token is unknown or revoked. Make a new one in the console: Your account.")
        if token.expires_at is not None and token.expired:
            raise AuthenticationFailed(
                f"This token expired on {moment_in_utc(token.expires_at)}. Make a new one in the console: Your account."
            )
        tokens.note_use(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME
