"""Who somebody is: the ways to recognize a worker, and personal links.

A worker is identified by a platform and an id there. People who come by the open link are new every time, or are
recognized by a key that their browser saves, or by the id that a panel adds to the link. A personal link belongs to one
invitation.
"""

from __future__ import annotations

import re
import secrets

from django.contrib.auth.models import User
from django.utils.crypto import constant_time_compare, salted_hmac

from annotation.models import Participant, Study, Worker

LINK, BROWSER, PANEL, SIMULATED, MEMBER = "link", "browser", "panel", "simulated", "member"
_BROWSER_KEY = re.compile(r"[A-Za-z0-9]{20,64}")
# Does not match a placeholder that a panel failed to fill in, such as {{%PROLIFIC_PID%}} or ${id}.
_PANEL_ID = re.compile(r"[A-Za-z0-9._~@:+-]{1,100}")


def link_worker(key: str = "") -> Worker:
    """An anonymous person: with ``key``, always the same one; without, a new one."""
    return _worker(LINK, key or secrets.token_hex(16))


def is_browser_key(key: str) -> bool:
    """Whether ``key`` has the form of the keys that workers' pages save in a browser. Other keys are ignored."""
    return _BROWSER_KEY.fullmatch(key) is not None


def browser_worker(key: str) -> Worker:
    """The person whose browser saved ``key``: the same in all studies of this server."""
    return _worker(BROWSER, key)


def is_panel_id(name: str) -> bool:
    """Whether ``name`` can be a panel's id for a person."""
    return _PANEL_ID.fullmatch(name) is not None


def panel_id(panel: str, name: str) -> str:
    """The platform id of the person whom ``panel`` calls ``name``. It is the same in all studies with this panel."""
    return f"{panel}/{name}"


def panel_worker(panel: str, name: str) -> Worker:
    """The person whom ``panel`` calls ``name``."""
    return _worker(PANEL, panel_id(panel, name))


def return_proof(study: Study, secret: str) -> str:
    """What is stored of a secret that only the browser of somebody who starts has. Different in every study."""
    return salted_hmac("annotation.return", f"{study.pk}:{secret}", algorithm="sha256").hexdigest()


def may_return(participant: Participant, *secrets_shown: str) -> bool:
    """Whether one of these is the secret with which the participant started. A panel's id alone shows nothing: other
    people know it, too."""
    stored = participant.returns_with or ""
    shown = [return_proof(participant.study, secret) for secret in secrets_shown if secret]
    return bool(stored) and any(constant_time_compare(proof, stored) for proof in shown)


def member_worker(user: User) -> Worker:
    """The user as a worker, for studies whose members do the work. The same person in all of them."""
    return _worker(MEMBER, str(user.pk))


def simulated_id(study: Study, name: str) -> str:
    """The platform id of a simulated worker. It is different in every study."""
    return f"{study.slug}/{name}"


def simulated_worker(study: Study, name: str) -> Worker:
    """The simulated worker with this name in this study."""
    return _worker(SIMULATED, simulated_id(study, name), synthetic=True)


def _worker(platform: str, platform_id: str, *, synthetic: bool = False) -> Worker:
    worker, _ = Worker.objects.get_or_create(
        platform=platform, platform_id=platform_id, defaults={"synthetic": synthetic}
    )
    return worker
