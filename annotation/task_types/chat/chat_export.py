"""The export ``chat-turns``: one row for each message and each assistant that answered it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from annotation.task_types.extra_exports import ExtraExport, SubmissionRows
from annotation.task_types.items import Json

COLUMNS = (
    *("submission", "worker", "item", "turn", "side", "system", "model", "decoder", "seed", "message", "answer"),
    *("source", "tokens", "finish_reason", "seconds", "waited", "asked_at", "tries"),
)


def turn_rows(config: Json, submissions: Iterable[SubmissionRows]) -> Iterator[Sequence[str]]:
    """Of several tries for an answer, the last; ``tries`` counts them. Where none came, the answer is empty."""
    for submission in submissions:
        messages = {
            (rating.item, int(rating.target)): rating.text
            for rating in submission.ratings
            if rating.question == "message" and rating.target.isdecimal()
        }
        tries: dict[tuple[str, int, str], int] = {}
        newest = {}
        for offer in submission.offers:
            key = offer.item, offer.round, offer.side
            tries[key] = tries.get(key, 0) + 1
            newest[key] = offer
        for (item, turn, side), offer in sorted(newest.items()):
            yield [
                str(submission.number),
                submission.worker,
                item,
                str(turn),
                side,
                offer.suggester,
                offer.model,
                offer.decoder,
                offer.seed,
                messages.get((item, turn), ""),
                offer.text,
                offer.source,
                offer.tokens,
                offer.finish_reason,
                offer.seconds,
                offer.waited,
                offer.asked_at,
                str(tries[item, turn, side]),
            ]


CHAT_TURNS = ExtraExport(
    name="chat-turns",
    columns=COLUMNS,
    fits=lambda config: "suggesters" in config and "max_turns" in config,
    refusal="This study has no conversations.",
    rows=turn_rows,
)
