"""The pool: texts written in advance, for when a live suggestion is late.

A pool belongs to a suggester, so a writer still sees the work of that model and decoder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from generation.models import PoolText, Suggestion
from generation.suggestions.cleaning import bare

State = Suggestion.State
EVERY_ROUND = 0
EMPTY_POOL = "The pool of {suggester} has no text left for round {round} of this story."


@transaction.atomic
def answer_from_pool(*, reasons: Mapping[int, str], now: datetime) -> list[Suggestion]:
    """Give those still waiting a text from their suggester's pool; they fail if it has none left.

    ``reasons``: by id, why each suggestion's own text is not shown. An answer in a conversation fails in any case.

    A story is locked as a whole, so two of its suggestions cannot get the same text. Texts for the round come first,
    then those for every round; the suggestion's seed decides which. Returns the suggestions that were answered.
    """
    stories = Suggestion.objects.filter(pk__in=reasons).values("story")
    rows = Suggestion.objects.select_for_update(of=("self",), no_key=True).select_related("suggester")
    of_stories = list(rows.filter(story__in=stories).order_by("pk"))
    waiting = [row for row in of_stories if row.pk in reasons and row.state == State.WAITING]
    if not waiting:
        return []
    seen: dict[str, set[str]] = defaultdict(set)
    for row in of_stories:
        seen[row.story].add(bare(row.text))
    pool: dict[tuple[int, int], list[PoolText]] = defaultdict(list)
    suggesters = {row.suggester_id for row in waiting}
    rounds = {row.round for row in waiting} | {EVERY_ROUND}
    for text in PoolText.objects.filter(suggester__in=suggesters, round__in=rounds).order_by("pk"):
        pool[text.suggester_id, text.round].append(text)
    for row in waiting:
        row.leased_by, row.leased_until = "", None
        row.answered_at = max(now, row.asked_at)  # another machine's clock may be behind
        fresh: list[PoolText] = []
        for number in (row.round, EVERY_ROUND):
            fresh = fresh or [text for text in pool[row.suggester_id, number] if bare(text.text) not in seen[row.story]]
        if row.conversation:  # nothing that was written before answers a message
            row.state, row.message = State.FAILED, reasons[row.pk]
        elif fresh:
            chosen = fresh[row.seed % len(fresh)]
            row.state, row.from_pool, row.pool_text, row.text = State.DONE, True, chosen, chosen.text
            row.message = reasons[row.pk]
            seen[row.story].add(bare(chosen.text))
        else:
            row.state = State.FAILED
            empty = EMPTY_POOL.format(suggester=row.suggester.name, round=row.round)
            row.message = f"{reasons[row.pk]} {empty}"
    changed = ["state", "text", "from_pool", "pool_text", "message", "leased_by", "leased_until", "answered_at"]
    Suggestion.objects.bulk_update(waiting, changed)
    return waiting
