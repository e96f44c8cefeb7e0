"""The tasks of a detection study: texts of one domain, half by people and half by one model."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence

from annotation.task_types.base import ArmPlan, Design, PlannedHit
from annotation.task_types.items import ItemData
from common.problems import invalid

HUMAN = "human"


def plan_detection(items: Sequence[ItemData], design: Design, rng: random.Random) -> list[PlannedHit]:
    """Each arm's texts in hits of one domain and one model; an arm with practice gets the practice texts in every hit.

    In hits of an odd size, people and machines have one text more in turn, so half of all texts shown are by people.
    Texts of one kind are shown equally often, ±1, and at least as often as the study wants ratings. A domain with too
    few texts of one kind for that is divided as it is. Raises Invalid if an arm has no texts, or if there are practice
    texts but none for its training.
    """
    hits: list[PlannedHit] = []
    for arm in design.arms:
        rng_of_arm = random.Random(rng.random())
        main = [item for item in items if item.role == "main" and _wants(arm, item)]
        if not main:
            what = f"No text fits the domain “{arm.config['domain']}” and the model “{arm.config['model']}”."
            raise invalid("config", what, "Correct the names, or leave the settings empty.")
        practice = _practice(items, arm)
        domains: dict[str, list[ItemData]] = defaultdict(list)
        for item in main:
            domains[item.payload["domain"].strip()].append(item)
        bundles = [bundle for texts in domains.values() for bundle in _of_domain(texts, design, rng_of_arm)]
        rng_of_arm.shuffle(bundles)
        hits += [PlannedHit([*practice, *bundle], 1, arm.name) for bundle in bundles]
    return hits


def texts_no_arm_wants(items: Sequence[ItemData], design: Design) -> dict[str, list[str]]:
    """Main texts of domains, and by models, that no arm asks for. One file can serve several experiments so."""
    reasons: dict[str, list[str]] = {}
    for item in items:
        if item.role != "main" or any(_wants(arm, item) for arm in design.arms):
            continue
        right_domain = any(_wants_domain(arm, item) for arm in design.arms)
        reasons.setdefault("by other models" if right_domain else "of other domains", []).append(item.external_id)
    return reasons


def _wants_domain(arm: ArmPlan, item: ItemData) -> bool:
    return arm.config["domain"].strip() in ("", item.payload["domain"].strip())


def _wants(arm: ArmPlan, item: ItemData) -> bool:
    model = arm.config["model"].strip()
    return _wants_domain(arm, item) and (not model or item.payload["source"].strip() in (HUMAN, model))


def _practice(items: Sequence[ItemData], arm: ArmPlan) -> list[str]:
    training = arm.config["training"]
    if training not in ("examples", "comparison"):
        return []
    pairs = training == "comparison"
    practice_ids = [
        item.external_id
        for item in items
        if item.role == "practice" and bool(item.payload["other_text"].strip()) == pairs and _wants_domain(arm, item)
    ]
    if not practice_ids and any(item.role == "practice" for item in items):
        kind = "pairs (with other_text)" if pairs else "single texts (without other_text)"
        raise invalid("items", f"The training “{training}” needs practice {kind}; there are none.", "Add some.")
    return practice_ids


def _of_domain(items: Sequence[ItemData], design: Design, rng: random.Random) -> list[list[str]]:
    size, ratings = design.items_per_hit, design.ratings_per_item
    kinds: dict[str, list[str]] = defaultdict(list)
    for item in items:
        kinds[item.payload["source"].strip()].append(item.external_id)
    human_names = kinds.pop(HUMAN, [])
    larger_half = size - size // 2
    if size < 2 or len(human_names) < larger_half or not kinds or min(map(len, kinds.values())) < larger_half:
        names = [item.external_id for item in items] * ratings if size == 1 else [item.external_id for item in items]
        rng.shuffle(names)
        bundles_once = [names[start : start + size] for start in range(0, len(names), size)]
        return bundles_once if size == 1 else bundles_once * ratings
    people = _Queue(human_names, rng)
    bundles = []
    for names in kinds.values():
        machine = _Queue(names, rng)
        longest = max(len(names), math.ceil(len(human_names) / len(kinds)))
        # Two hits of an odd size show `size` texts of either kind.
        hits = math.ceil(longest * ratings * 2 / size)
        hits += hits * size % 2
        for number in range(hits):
            of_people = size // 2 if number % 2 else larger_half
            bundles.append(people.take(of_people) + machine.take(size - of_people))
    return bundles


class _Queue:
    """Names in random order, repeated as often as needed. One draw never contains a name twice."""

    def __init__(self, names: Sequence[str], rng: random.Random) -> None:
        self.names, self.rng, self.left = list(names), rng, list[str]()

    def take(self, count: int) -> list[str]:
        taken_names: list[str] = []
        while len(taken_names) < count:
            if not self.left:
                fresh = self.rng.sample(self.names, len(self.names))
                # Names of this draw go to the end, where the next draw finds them.
                self.left = [name for name in fresh if name not in taken_names] + [
                    name for name in fresh if name in taken_names
                ]
            taken_names.append(self.left.pop(0))
        return taken_names
