"""Prolific's filters, eligible participants and participant groups (“List all filters”, “Count participants”,
“Participant groups”)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from annotation.platforms.audience import Audience, Eligible, Filter, Group
from annotation.platforms.calls import Json, PlatformTrouble
from annotation.platforms.prolific.config import ProlificConfig

#: “Count participants”: “Zero means that there are less than 25 participants.”
LEAST_SHOWN = 25
#: Participants in one request; Prolific names no limit.
AT_ONCE = 200


class Account(Protocol):
    """What this needs of the connection to an account."""

    def call(self, operation: str, **params: Any) -> Json: ...

    def read(self, path: str, **query: Any) -> Json: ...

    def workspace(self, project: str = "") -> str: ...

    def project(self, settings: Json) -> str: ...


class ProlificAudience(Audience):
    """What one account can find."""

    def __init__(self, platform: Account) -> None:
        self._platform = platform

    def filters(self, settings: Json, words: str) -> Sequence[Filter]:
        rows = self._platform.read("filters/", workspace_id=self._workspace(settings)).get("results") or ()
        search_words = words.casefold().split()
        return [
            Filter(
                name=str(row.get("filter_id") or ""),
                title=str(row.get("title") or ""),
                question=str(row.get("question") or ""),
                choices={str(value): str(text) for value, text in (row.get("choices") or {}).items()},
                least=str(row.get("min") if row.get("min") is not None else ""),
                most=str(row.get("max") if row.get("max") is not None else ""),
            )
            for row in rows
            if all(word in str(row).casefold() for word in search_words)
        ]

    def eligible(self, settings: Json) -> Eligible:
        chosen = ProlificConfig(**settings).chosen(())
        plain = [{name: value for name, value in filter_.items() if name != "weightings"} for filter_ in chosen]
        answer = self._platform.call("count_eligible", filters=plain, workspace_id=self._workspace(settings))
        count = int(answer.get("count") or 0)
        return Eligible(count, few=count < LEAST_SHOWN)

    def groups(self, settings: Json) -> Sequence[Group]:
        rows = self._platform.read("participant-groups/", workspace_id=self._workspace(settings)).get("results") or ()
        return [
            Group(str(row["id"]), str(row.get("name") or ""), int(row.get("participant_count") or 0))
            for row in rows
            if not row.get("is_deleted")
        ]

    def add_to_group(self, settings: Json, title: str, worker_ids: Sequence[str]) -> Group:
        named = [group for group in self.groups(settings) if group.title == title]
        if len(named) > 1:
            raise PlatformTrouble(
                f"Prolific has several groups called “{title}”.", "Choose another name.", may_be_done=False
            )
        if named:
            name = named[0].name
        else:
            created = self._platform.call("create_group", name=title, workspace_id=self._workspace(settings))
            name = str(created["id"])
        members = named[0].members if named else 0
        for start in range(0, len(worker_ids), AT_ONCE):
            page = list(worker_ids[start : start + AT_ONCE])
            answer = self._platform.call("add_to_group", id=name, participant_ids=page)
            members = len(answer.get("results") or ())
        return Group(name, title, members)

    def _workspace(self, settings: Json) -> str:
        return self._platform.workspace(self._platform.project(settings))
