"""Which hit a participant gets next: the one with the fewest ratings, of those that show them nothing they have had.

A main item that lies in several hits is never given to one participant twice; the database refuses it, too
(`annotation.models.TakenItem`). A hit that is held is given to nobody. Gold and attention items may come again, but
only when no hit with other ones is left.

In an arm whose hits share items, a participant stays in one layer: its hits share no item, so nothing that they do
there bars them from the rest of it. Somebody new joins the layer with the most open places for each worker. If people
mixed the layers, each would soon have had one item of every hit that is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from annotation import sql
from annotation.instrument import check_items

_FREE = """
SELECT h.id, h.n_live, (
    SELECT MAX(a.slot) FROM annotation_assignment a WHERE a.hit_id = h.id AND a.state IN ('accepted', 'submitted'))
FROM annotation_hit h
WHERE h.arm_id = %s AND h.n_live < h.wanted AND NOT h.held AND NOT EXISTS (
    SELECT 1 FROM annotation_assignment a
    WHERE a.hit_id = h.id AND a.participant_id = %s AND a.state <> 'abandoned'){}
ORDER BY h.n_live, h.position LIMIT 1
"""
_NOT_THEIR_OWN = """ AND NOT EXISTS (
    SELECT 1 FROM annotation_hititem i JOIN annotation_itemauthor w ON w.item_id = i.item_id
    WHERE i.hit_id = h.id AND w.worker_id = %s)"""
_NOTHING_HAD = """ AND NOT EXISTS (
    SELECT 1 FROM annotation_hititem i JOIN annotation_takenitem t ON t.item_id = i.item_id AND t.participant_id = %s
    WHERE i.hit_id = h.id)"""
_NO_MAIN_ITEM_HAD = """ AND NOT EXISTS (
    SELECT 1 FROM annotation_hititem i JOIN annotation_takenitem t ON t.item_id = i.item_id AND t.participant_id = %s
    JOIN annotation_item m ON m.id = i.item_id AND m.role = 'main' WHERE i.hit_id = h.id)"""
_NOTHING_RETURNED = """ AND NOT EXISTS (
    SELECT 1 FROM annotation_assignment r JOIN annotation_hititem j ON j.hit_id = r.hit_id
    JOIN annotation_hititem i ON i.item_id = j.item_id JOIN annotation_item m ON m.id = i.item_id AND m.role = 'main'
    WHERE r.participant_id = %s AND r.state = 'returned' AND i.hit_id = h.id)"""
_IN_LAYER = " AND h.layer = %s"
_HAD_MAIN_ITEM = """
SELECT 1 FROM annotation_hititem i JOIN annotation_takenitem t ON t.item_id = i.item_id AND t.participant_id = %s
JOIN annotation_item m ON m.id = i.item_id AND m.role = 'main' WHERE i.hit_id = %s LIMIT 1
"""
_THEIR_LAYER = """
SELECT h.layer FROM annotation_assignment a JOIN annotation_hit h ON h.id = a.hit_id
WHERE a.participant_id = %s ORDER BY a.id DESC LIMIT 1
"""
_LAYERS = """
SELECT h.layer, SUM(h.wanted - h.n_live), MIN(h.position), (
    SELECT COUNT(DISTINCT a.participant_id) FROM annotation_assignment a JOIN annotation_hit g ON g.id = a.hit_id
    WHERE g.arm_id = h.arm_id AND g.layer = h.layer AND a.state IN ('accepted', 'submitted'))
FROM annotation_hit h WHERE h.arm_id = %s AND h.n_live < h.wanted AND NOT h.held GROUP BY h.arm_id, h.layer
"""
FreeHit = tuple[int, int, int | None]


@dataclass(frozen=True, slots=True)
class Seeker:
    """A participant who looks for a hit. ``author_id``: their worker's id, if somebody wrote the study's items.

    ``shares_items``: some items of the arm lie in several hits. ``has_returned``: they have ended some hit unfinished.
    """

    participant_id: int
    arm_id: int
    author_id: int | None
    shares_items: bool
    has_returned: bool = True


def free_hit(seeker: Seeker, *, lock: str = "") -> FreeHit | None:
    """Id, number of live assignments and highest slot of the hit that they get next. None if there is none for them.

    ``lock``: ``skip`` locks the hit and skips those that others are giving out; ``wait`` waits for these.
    """
    rules = _Rules(seeker, lock)
    if seeker.shares_items and (layer := layer_of(seeker)) is not None:
        hit = rules.first(layer=layer)
        if hit is not None:
            return hit
    return rules.first()


class _Rules:
    """The statement for one participant, put together from the clauses that matter to them."""

    def __init__(self, seeker: Seeker, lock: str) -> None:
        self.seeker, self.lock = seeker, lock
        # Whether the arm has a gold or attention item that they have not had. No query where the arm has none.
        self.fresh_checks_left = False
        if checks := check_items(seeker.arm_id):
            listed = ", ".join(["%s"] * len(checks))
            had = f"SELECT COUNT(*) FROM annotation_takenitem WHERE participant_id = %s AND item_id IN ({listed})"  # noqa: S608
            row = sql.fetch_one(had, seeker.participant_id, *checks)
            self.fresh_checks_left = row is not None and row[0] < len(checks)

    def first(self, layer: int | None = None) -> FreeHit | None:
        if self.fresh_checks_left and (hit := self._fetch(layer, _NOTHING_HAD)):
            return hit
        return self._fetch(layer, _NO_MAIN_ITEM_HAD if self.seeker.shares_items else "")

    def _fetch(self, layer: int | None, not_had: str) -> FreeHit | None:
        seeker = self.seeker
        clauses: list[tuple[str, int | None]] = [(_NOT_THEIR_OWN, seeker.author_id)] if seeker.author_id else []
        if not_had:
            clauses.append((not_had, seeker.participant_id))
        if seeker.shares_items and seeker.has_returned:
            clauses.append((_NOTHING_RETURNED, seeker.participant_id))
        if layer is not None:
            clauses.append((_IN_LAYER, layer))
        text = _FREE.format("".join(clause for clause, _ in clauses))
        if self.lock:
            text = sql.locked(text, of="h", skip=self.lock == "skip")
        row = sql.fetch_one(text, seeker.arm_id, seeker.participant_id, *(value for _, value in clauses))
        return None if row is None else (row[0], row[1], row[2])


def has_had_item_of(*, participant_id: int, hit_id: int) -> bool:
    """Whether the participant is working on, or has answered, a main item of this hit (in this hit or another)."""
    return sql.fetch_one(_HAD_MAIN_ITEM, participant_id, hit_id) is not None


def layer_of(seeker: Seeker) -> int | None:
    """The layer of their newest hit; for somebody new, the one with the most open places per worker."""
    row = sql.fetch_one(_THEIR_LAYER, seeker.participant_id)
    if row is not None:
        return int(row[0])
    layers = sql.fetch_all(_LAYERS, seeker.arm_id)
    best = max(layers, key=lambda row: (row[1] / (row[3] + 1), -row[2]), default=None)
    return None if best is None else int(best[0])
