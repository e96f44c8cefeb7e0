"""The keys of an account on a platform: sealed for the database, opened only to make a call.

They cannot be printed, and cannot be pickled into a message or a file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Never

from django.views.decorators.debug import sensitive_variables

from annotation.models import PlatformAccount
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.paying_accounts import refuse_retired
from common.sealing import CannotOpen, open_sealed, seal

PURPOSE = "keys of platform accounts"


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """What an account needs to make calls: two keys on MTurk, a token on Prolific, and its secret for notices."""

    access_key_id: str = ""
    secret: str = ""
    token: str = ""
    hook_secret: str = ""

    @property
    def last_four(self) -> str:
        """The end by which people recognise the key: of the id, where there is one. It is no secret."""
        return (self.access_key_id or self.token)[-4:]

    def __repr__(self) -> str:
        return "Keys(…)"

    def __reduce__(self) -> Never:
        raise TypeError("Keys are not written anywhere: pass the id of the account.")

    __getstate__ = __reduce__


@sensitive_variables()
def seal_keys(account: PlatformAccount, keys: Keys) -> None:
    """Puts the keys into the account's fields. It must have its owner, platform and endpoint; the caller saves it."""
    account.sealed = seal(json.dumps(asdict(keys)), purpose=PURPOSE, bound_to=_bound_to(account))
    account.last_four, account.hears = keys.last_four, bool(keys.hook_secret)


@sensitive_variables()
def keys_of(account: PlatformAccount) -> Keys:
    """The account's keys. Raises PlatformTrouble if they cannot be opened."""
    try:
        return Keys(**json.loads(open_sealed(account.sealed, purpose=PURPOSE, bound_to=_bound_to(account))))
    except CannotOpen:
        raise PlatformTrouble(
            f"The keys of the platform account “{account.title}” cannot be read: this server’s secret key has changed, "
            "or the account was changed outside it.",
            "Enter the keys again under Platform accounts.",
            may_be_done=False,
        ) from None


def refuse_unusable(account: PlatformAccount | None) -> None:
    """Raises PlatformTrouble if no call can be made with the account: it is retired, or its keys cannot be opened."""
    if account is not None:
        refuse_retired(account)
        keys_of(account)


def _bound_to(account: PlatformAccount) -> str:
    owner = f"team {account.team_id}" if account.team_id else f"user {account.user_id}"
    return json.dumps([str(account.seal_id), owner, account.platform, account.endpoint])
