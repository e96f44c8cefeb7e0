"""Django's sessions in the database, with their user and the time of their last use.

A session ends when nobody has used it for ``SESSION_COOKIE_AGE`` seconds (``HITSERVER_SESSION_IDLE_MINUTES``), and
``SESSION_LIFETIME`` after its user signed in (``HITSERVER_SESSION_MAX_DAYS``).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from accounts.models import Session

#: Where ``signing_in`` stores what it knows about the browser.
ORIGIN = "_origin"
#: A session in use is saved again after this time, not on every request.
TOUCH_SECONDS = 60


class SessionStore(DatabaseStore):
    """Stores sessions as ``accounts.models.Session``."""

    seen_at: datetime | None = None
    created_at: datetime | None = None

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def load(self) -> dict[str, Any]:
        row = self._get_session_from_db()  # type: ignore[attr-defined]  # the stubs leave it out
        if row and timezone.now() - row.created_at > settings.SESSION_LIFETIME:
            self.delete(row.session_key)
            self._session_key, row = None, None
        self.seen_at, self.created_at = (row.seen_at, row.created_at) if row else (None, None)
        return self.decode(row.session_data) if row else {}

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        row: Session = super().create_model_instance(data)  # type: ignore[assignment]
        origin, now = data.get(ORIGIN, {}), timezone.now()
        row.user_id = data.get(SESSION_KEY)
        row.created_at = datetime.fromisoformat(origin["since"]) if "since" in origin else now
        row.seen_at = now
        row.entrance, row.address, row.device = (
            str(origin.get(name, "")) for name in ("entrance", "address", "device")
        )
        return row

    @property
    def is_due(self) -> bool:
        """Whether the time of last use in the database is more than ``TOUCH_SECONDS`` old."""
        return self.seen_at is not None and timezone.now() - self.seen_at > timedelta(seconds=TOUCH_SECONDS)
