"""The section on conversations: how long they were, who answered, and how long people waited for it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.report.blocks import Highlight, Note, Section
from analysis.report.estimates import number
from analysis.report.source import Source
from analysis.report.stories import used_offers
from analysis.report.tables import Column, Table, keyed
from common.text_length import count_words
from common.words import counted

MESSAGE = "message"


def make_section(source: Source) -> Section:
    """Conversations, messages, and of every assistant its answers, waits and judgements."""
    section = Section(source.key("conversations"), "Conversations")
    messages = source.answers_to(MESSAGE)
    if messages.empty:
        section.add(Note("Nobody has finished a conversation yet."))
        return section
    per_talk = messages.groupby(["submission", "item"], sort=False).size()
    offers = used_offers(source)
    systems = [
        record_of(source, offers[offers["suggester"] == name], name) for name in sorted(set(offers["suggester"]))
    ]
    came = offers[offers["text"] != ""]
    p50, p95 = waits(came)
    words = [count_words(text) for text in messages["text"]]
    section.add(Note(in_words(len(per_talk), len(systems), per_talk.to_numpy(), p50, p95)))
    facts = {
        "conversations": len(per_talk),
        "messages": len(messages),
        "messages_per_conversation": float(per_talk.mean()),
        "words_per_message": float(np.median(words)),
        "wait_50": p50,
        "wait_95": p95,
    }
    section.data["conversations"] = facts
    section.data["systems"] = keyed(systems, "system")
    section.add(systems_table(systems, facts))
    section.highlights.append(Highlight("Messages per conversation", number(float(per_talk.mean()), 1)))
    return section


def waits(came: pd.DataFrame) -> tuple[float, float]:
    """Seconds from asking for an answer to the whole of it: half of them, and 95%, came within these."""
    seconds = came["latency"].dropna().to_numpy(dtype=float)
    return tuple(np.quantile(seconds, (0.5, 0.95)).tolist()) if len(seconds) else (math.nan, math.nan)


def record_of(source: Source, offers: pd.DataFrame, name: str) -> dict[str, Any]:
    came = offers[offers["text"] != ""]
    words = [count_words(text) for text in came["text"]]
    wait_50, wait_95 = waits(came)
    parts = source.ratings["target"].str.split("[/:]")
    return {
        "system": name,
        "conversations": len(offers.groupby(["submission", "item"])),
        "answers": len(came),
        "none": len(offers) - len(came),
        "words": float(np.median(words)) if words else math.nan,
        "wait_50": wait_50,
        "wait_95": wait_95,
        "judgements": int(parts.map(lambda names: name in names).sum()),
    }


def in_words(talks: int, systems: int, per_talk: np.ndarray[Any, Any], p50: float, p95: float) -> str:
    least, most = int(per_talk.min()), int(per_talk.max())
    lengths = f"{least}" if least == most else f"{least} to {most}"
    sentence = (
        f"There were {counted(talks, 'conversation')} with {counted(systems, 'assistant')}, each of {lengths} messages "
        f"by a person (mean {number(float(per_talk.mean()), 1)})."
    )
    if math.isnan(p50):
        return sentence
    return f"{sentence} Half of the answers were there within {number(p50, 1)} s, and 95% within {number(p95, 1)} s."


def systems_table(systems: list[dict[str, Any]], facts: dict[str, Any]) -> Table:
    columns = [
        Column("Assistant", "name", shows="system"),
        Column("Conversations", shows="conversations"),
        Column("Answers", shows="answers"),
        Column("No answer", shows="none"),
        Column("Words per answer, median", digits=0, shows="words"),
        Column("Wait, p50 (s)", digits=1, shows="wait_50"),
        Column("Wait, p95 (s)", digits=1, shows="wait_95"),
        Column("Judgements", shows="judgements"),
    ]
    note = (
        f"Messages by people have {number(facts['words_per_message'], 0)} words at the median. No answer: tries that "
        "ended without a text, because no model was there in time. Wait: seconds from asking to the whole answer, of "
        "which people see the beginning earlier. Judgements: ratings of the assistant, of its answers, and comparisons "
        "with another."
    )
    return Table("Assistants", columns, systems, note)
