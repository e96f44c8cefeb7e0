"""One simulated worker: a latent state that determines all their answers, on every page of every hit.

``ability`` is how closely they follow the item, ``bias`` shifts all their answers on ordered scales, and ``taste`` is
drawn once per item and question, so that the same worker gives similar answers when asked twice. If the type has no
true answer for an item, it is drawn from the item's name, so that workers agree about it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal, Protocol

Profile = Literal["careful", "noisy", "careless"]
PROFILES: tuple[Profile, ...] = ("careful", "noisy", "careless")
#: Standard deviation of a worker's error, as a share of the scale's width.
ERROR = {"careful": 0.12, "noisy": 0.32}
SENTENCES = (
    "In the end everybody went home and had a long quiet dinner.",
    "I would rather wait until tomorrow and ask somebody who knows.",
    "That sounds like a good reason to try something different.",
    "Nobody expected the weather to change so quickly that day.",
    "My neighbour told me almost the same thing last week.",
    "They looked at each other and started to laugh out loud.",
    "It took a while, but the plan worked better than before.",
    "Perhaps the old answer was the right one after all.",
)


class Answerable(Protocol):
    """What a simulated worker knows of a question."""

    @property
    def key(self) -> str: ...
    @property
    def topic(self) -> str: ...
    @property
    def target(self) -> str: ...
    def simulated(
        self, worker: SimulatedWorker, *, item: str, true: float | None, rng: random.Random
    ) -> dict[str, str]: ...


@dataclass(frozen=True, slots=True)
class SimulatedWorker:
    """``bias`` is a share of a scale's width; ``ability`` is between 0 (answers at random) and 1 (follows the item)."""

    name: str
    profile: Profile
    ability: float
    bias: float

    @classmethod
    def named(cls, name: str, profile: Profile) -> SimulatedWorker:
        """The worker with this name. The same name and profile always make the same worker."""
        rng = random.Random(f"{name}/{profile}")
        ability = {"careful": 0.9, "noisy": 0.6, "careless": 0.0}[profile]
        return cls(name, profile, min(1.0, max(0.0, rng.gauss(ability, 0.05))), rng.gauss(0, 0.05))

    def rng(self, *key: object) -> random.Random:
        """This worker's random generator for ``key``. The same arguments always give the same one."""
        return random.Random("/".join(map(str, (self.name, self.profile, *key))))

    def answer(self, question: Answerable, *, item: str, true: float | None = None) -> dict[str, str]:
        """The form fields of this worker's answer to ``question`` about the item with this name."""
        rng = self.rng(item, question.topic, question.target, question.key)
        return question.simulated(self, item=item, true=true, rng=rng)

    def placed(self, true: float, low: float, high: float, rng: random.Random) -> float:
        """Where this worker puts what truly is at ``true`` on a scale from ``low`` to ``high``, before it is rounded to
        a point: with bias and error. For workers who are not careless."""
        return true + (self.bias + rng.gauss(0, ERROR[self.profile])) * (high - low)
