"""What workers read in a writing study, as texts that a study can reword."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.description import Scale
from annotation.task_types.base import Text
from annotation.task_types.items import Json
from annotation.task_types.wording import recording_texts, scale_texts, task_in_sentences
from common.words import counted

#: The end points have the published names.
AGREEMENT = Scale.numbered("agreement", 5, low="Strongly Disagree", high="Strongly Agree")


def texts_of(config: Json) -> Sequence[Text]:
    alone, pick, last = "Pages without suggestions", "Pages with suggestions", "Last page"
    return [
        Text("instructions", "Instructions", _instructions(config), lines=8),
        Text("prompt.heading", "Heading of the prompt", "An idea to start from"),
        Text("story.heading", "Heading of the story", "The story so far"),
        Text("first.title", "Title of the first page", "Write the first line of a story", alone),
        Text("alone.title", "Title of later pages", "Write the next line", alone),
        Text("turn.label", "Label of the box", "Your line", alone),
        Text("pick.title", "Title", "Choose the next line", pick),
        Text("pick.label", "Question above the suggestions", "Which suggestion do you want to use?", pick),
        Text("edit.label", "Label of the box", "The line that goes into the story", pick),
        Text(
            "edit.help",
            "Help for the box",
            "Choose a suggestion to put it here. You can then change it as you like, or switch to another one.",
            pick,
            2,
        ),
        Text(
            "edit.without_script",
            "Help for browsers without JavaScript",
            "To use a suggestion as it is, choose it and leave this box empty. To change it, copy it into the box.",
            pick,
            2,
        ),
        Text("final.title", "Title", "Your story is finished", last),
        Text("final.heading", "Heading of the story", "Your story", last),
        Text("final.statements", "Line above the statements", "How much do you agree?", last),
        *scale_texts("agreement", AGREEMENT, "Scale of the statements"),
        *recording_texts(config),
    ]


def _instructions(config: Json) -> str:
    count = len(config["suggesters"])
    offered = "one suggestion" if count == 1 else f"{count} suggestions"
    steps = task_in_sentences(
        [
            "you write the first line of a story",
            f"you get {offered} for the next line: choose one, change it as you like, and add it",
            "you write the next line alone again, and so on",
            "you answer a few questions about the story",
        ]
    )
    least, most = config["least_characters"], config["most_characters"]
    return (
        f"You write a story in {counted(2 * config['rounds'], 'turn')}. {steps}\n\n"
        f"Each line has {least} to {most} characters. A line cannot be changed after you have added it."
    )
