"""A call to a platform, described before it is made, and why one failed.

``recruiting.platform_calls`` records each call before it is made, so that nothing takes effect twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import PlatformCall

Json = dict[str, Any]
#: In a dry run, stands for an id that the platform has not given yet.
NOT_MADE = "…"
#: Looks for what an earlier try of a call did. Returns its result, or None if it had no effect.
Search = Callable[[PlatformCall], Json | None]
#: For ``Call.search_on``: search after any refusal. For calls that move money, an error code is too little to go by.
ANY_REFUSAL = ("",)


class PlatformTrouble(Exception):
    """The platform did not do what we asked. ``again``: the same call may succeed later. ``fix``: what to do.

    ``may_be_done`` is False if the call certainly had no effect: it was refused, or it never left this machine.
    ``local``: this posting is the reason, so the same call for another posting may succeed.
    """

    def __init__(
        self,
        what: str,
        fix: str = "",
        *,
        again: bool = False,
        code: str = "",
        may_be_done: bool = True,
        local: bool = False,
    ) -> None:
        super().__init__(f"{what} {fix}".strip())
        self.what, self.fix, self.again, self.code = what, fix, again, code
        self.may_be_done, self.local = may_be_done, local


class PostingGone(PlatformTrouble):
    """The posting no longer exists on the platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call to make once. ``key`` identifies what it is for; calls with equal keys are the same call.

    ``params`` gets the results of the calls before it in the same list. ``search`` looks for what an earlier try did;
    it runs if that try may have been forgotten (`Platform.token_life`), or after a refusal whose code contains one of
    ``search_on``. ``with_token``: the operation accepts the platform's token.
    """

    key: str
    operation: str
    params: Callable[[Sequence[Json]], Json]
    search: Search | None = None
    search_on: tuple[str, ...] = ("AlreadyExists",)
    with_token: bool = True

    @classmethod
    def fixed(cls, key: str, operation: str, params: Json, **more: Any) -> Call:
        """A call whose parameters do not depend on the calls before it."""
        return cls(key=key, operation=operation, params=lambda done: params, **more)
