"""How the JSON API identifies its callers."""

from __future__ import annotations

from django.contrib.auth.models import User
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts import tokens
from accounts.models import ApiToken

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """Reads ``Authorization: Bearer hits_…``. Raises AuthenticationFailed for an unknown or revoked token."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        parts = get_authorization_header(request).decode("latin-1").split()
        if not parts or parts[0].lower() != SCHEME.lower():
            return None
        token = tokens.find_token(parts[1]) if len(parts) == 2 else None
        if token is None:
            raise AuthenticationFailed("This token is unknown or revoked. Make a new one in the console: Your account.")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return SCHEME
