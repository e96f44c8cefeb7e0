"""Whom a platform can find for a study: its filters, how many people pass them, and named groups of workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from annotation.platforms.calls import Json


@dataclass(frozen=True, slots=True)
class Filter:
    """A question that the platform has asked its workers. ``choices``: value → answer; or a range from ``least`` to
    ``most``."""

    name: str
    title: str
    question: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    least: str = ""
    most: str = ""


@dataclass(frozen=True, slots=True)
class Eligible:
    """How many workers pass a study's filters. ``few``: so few that the platform does not say how many."""

    count: int
    few: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A named list of workers on the platform."""

    name: str
    title: str
    members: int


class Audience(ABC):
    """What a connected platform knows about its workers. ``settings`` are the study's there. Raises PlatformTrouble."""

    @abstractmethod
    def filters(self, settings: Json, words: str) -> Sequence[Filter]:
        """The filters that contain all of ``words`` in their name, title, question or answers; none for all."""

    @abstractmethod
    def eligible(self, settings: Json) -> Eligible:
        """How many workers could take part now."""

    @abstractmethod
    def groups(self, settings: Json) -> Sequence[Group]:
        """The groups that the study can use."""

    @abstractmethod
    def add_to_group(self, settings: Json, title: str, worker_ids: Sequence[str]) -> Group:
        """Add workers to the group with this title, and make it first if there is none. Repeating it does no harm."""
