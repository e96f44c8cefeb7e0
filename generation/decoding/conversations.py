"""Conversations as data: what was said so far, and the same as a text for models without a chat template.

A conversation is a list of messages, each with a role (``system``, ``user`` or ``assistant``) and its content. Only
messages have roles: whatever a person writes stays the content of their message, even if it looks like the marks that a
model's template puts between two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Message = tuple[str, str]
ROLES = ("system", "user", "assistant")
#: How a model without a chat template reads who speaks, and where its answer ends.
SPEAKERS = {"user": "User", "assistant": "Assistant"}
STOPS = (f"\n{SPEAKERS['user']}:", f"\n{SPEAKERS['assistant']}:")


def messages_in(conversation: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a stored conversation."""
    return tuple((str(message["role"]), str(message["content"])) for message in conversation.get("messages", ()))


def stored(messages: Sequence[Message], most_tokens: int) -> dict[str, Any]:
    """A conversation as JSON, with the most tokens of the answer that it waits for."""
    return {
        "messages": [{"role": role, "content": content} for role, content in messages],
        "most_tokens": most_tokens,
    }


def transcript(messages: Sequence[Message]) -> str:
    """The conversation as one text that ends where the next answer begins."""
    lines = [f"{SPEAKERS[role]}: {content}" if role in SPEAKERS else f"{content}\n" for role, content in messages]
    return "\n".join([*lines, f"{SPEAKERS['assistant']}:"])


def without_oldest(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation without its oldest exchange: the instructions to the model stay, and a person speaks first.

    Empty if only the last message would be left to remove.
    """
    start = 1 if messages and messages[0][0] == "system" else 0
    rest = list(messages[start + 1 :])
    while rest and rest[0][0] == "assistant":
        rest.pop(0)
    return (*messages[:start], *rest) if rest else ()


def without_begun_stop(text: str) -> str:
    """A text that still grows, without an end that may become one of ``STOPS``."""
    longest = max((size for stop in STOPS for size in range(1, len(stop)) if text.endswith(stop[:size])), default=0)
    return text[: len(text) - longest]
