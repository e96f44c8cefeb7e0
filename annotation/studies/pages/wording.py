"""Texts that a study or an arm can reword, as the console shows them: by group, each with its default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from annotation.studies.pages.forms import TEXT_PREFIX
from annotation.task_types.base import Text


@dataclass(frozen=True, slots=True)
class Wording:
    """One text. ``default`` is used if the box is empty."""

    text: Text
    value: str
    default: str
    error: str

    @property
    def label(self) -> str:
        return self.text.label

    @property
    def field(self) -> str:
        return TEXT_PREFIX + self.text.name

    @property
    def id(self) -> str:
        return f"id_{self.field}".replace(".", "_")


@dataclass(frozen=True, slots=True)
class WordingGroup:
    """Texts under one heading."""

    title: str
    wordings: list[Wording] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Whether the study has reworded a text of this group, or one has an error."""
        return any(wording.value or wording.error for wording in self.wordings)


def wording_groups(
    texts: Iterable[Text],
    typed: Mapping[str, str],
    errors: Mapping[str, str],
    inherited: Mapping[str, str] | None = None,
) -> list[WordingGroup]:
    """The texts in the type's order. ``inherited``: for an arm, the study's wordings, which replace the defaults."""
    groups: dict[str, WordingGroup] = {}
    for text in texts:
        default = (inherited or {}).get(text.name, text.default)
        wording = Wording(text, typed.get(text.name, ""), default, errors.get(text.name, ""))
        groups.setdefault(text.group, WordingGroup(text.group)).wordings.append(wording)
    return list(groups.values())
