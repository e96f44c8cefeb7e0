"""What workers read in a conversation, as texts that a study can reword."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.task_types.base import Text
from annotation.task_types.chat.comparisons import comparison_texts
from annotation.task_types.chat.conversation import SIDES
from annotation.task_types.items import Json
from annotation.task_types.wording import recording_texts
from common.words import counted


def texts_of(config: Json) -> Sequence[Text]:
    two = config["sides"] == "two"
    page, buttons, after = "The conversation", "Buttons and messages", "Page after the conversation"
    speaks = "The assistants are" if two else "The assistant is"
    texts = [
        Text("instructions", "Instructions", _instructions(config), lines=8),
        Text("title", "Title", "Talk with two assistants" if two else "Talk with an assistant", page),
        Text("scenario.heading", "Heading of the scenario", "Your situation", page),
        Text("log.name", "Name of the conversation, for screen readers", "Conversation", page),
        Text("you", "Name of the person", "You", page),
        *(
            [Text(f"side.{side.lower()}", f"Name of side {side}", f"Assistant {side}", page) for side in SIDES]
            if two
            else [Text("side.one", "Name of the assistant", "Assistant", page)]
        ),
        Text("count", "Which message it is; {n} and {most} are numbers", "Message {n} of at most {most}", page),
        Text("message.label", "Label of the box", "Your message", page),
        Text("message.keys", "Keys", "Enter sends. Shift and Enter begin a new line.", page),
        Text("send", "Button that sends", "Send", buttons),
        Text("end", "Button that ends", "End the conversation", buttons),
        Text("end.help", "Help beside it", "Send what is in the box, or empty it, before you end.", buttons),
        Text("last", "After the last message", "That was the last message of this conversation.", buttons),
        Text("waiting", "While an answer is written", f"{speaks} writing", buttons),
        Text(
            "failed",
            "If no answer came",
            "There is no answer to your last message. Everything so far is saved. Try again, or end the conversation.",
            buttons,
            2,
        ),
        Text("retry", "Button that tries again", "Try again", buttons),
    ]
    abouts = {record["of"] for record in config["questions"]}
    texts.append(Text("questions.title", "Title", "What do you think of it?", after))
    if "turn" in abouts:
        texts.append(Text("turn.heading", "Heading of an answer; {n} is its number", "Answer {n}", after))
    if "assistant" in abouts:
        heading = "All answers of {name}"
        texts.append(Text("assistant.heading", "Heading of an assistant; {name} is its name", heading, after))
    if "conversation" in abouts or comparison_texts(config):
        texts.append(Text("whole.heading", "Heading of the conversation", "The whole conversation", after))
    return [*texts, *comparison_texts(config), *recording_texts(config)]


def _instructions(config: Json) -> str:
    least, most = config["min_turns"], config["max_turns"]
    count = counted(most, "message") if least == most else f"{least} to {counted(most, 'message')}"
    who = (
        "two computer programs, which both get each of your messages. Each sees only its own answers"
        if config["sides"] == "two"
        else "a computer program"
    )
    return (
        f"You have a conversation with {who}. Read your situation, and write what you would write in it. You can send "
        f"{count}.\n\nThen answer questions about the conversation. Do not write anything about yourself or others "
        "that should stay private."
    )
