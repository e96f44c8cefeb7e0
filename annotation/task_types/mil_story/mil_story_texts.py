"""What workers read in a story study, as texts that a study can reword."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.task_types.base import Text
from annotation.task_types.items import Json
from annotation.task_types.surveys import survey_texts
from annotation.task_types.wording import recording_texts, task_in_sentences
from common.words import counted


def texts_of(config: Json) -> Sequence[Text]:
    alone, suggested, rating = "Pages without a suggestion", "Pages with a suggestion", "Page after each story"
    texts = [
        Text("instructions", "Instructions", _instructions(config), lines=8),
        Text("prompt.heading", "Heading of the prompt", "An idea to start from"),
        Text("story.heading", "Heading of the story", "The story so far"),
        Text("first.title", "Title of the first page", "Write the first sentence of a story", alone),
        Text("next.title", "Title of later pages", "Write the next sentence", alone),
        Text("sentence.label", "Label of the box", "Your sentence", alone),
        Text("rating.title", "Title", "Your story is finished", rating),
        Text("rating.heading", "Heading of the story", "Your story", rating),
        Text("rating.question", "Line above the statements", "How much do you agree?", rating),
    ]
    if config["suggestions"]:
        help_text = (
            "A computer suggests this sentence. Keep it, change it as you like, or delete it and write your own."
        )
        texts += [
            Text("suggested.title", "Title", "Use or change the next sentence", suggested),
            Text("suggested.label", "Label of the box", "The next sentence", suggested),
            Text("suggested.help", "Help for the box", help_text, suggested, 2),
            Text("suggested.empty", "Button that empties the box", "Empty the box", suggested),
            Text("suggested.restore", "Button that puts it back", "Put the suggestion back", suggested),
        ]
    return [*texts, *survey_texts(config), *recording_texts(config)]


def _instructions(config: Json) -> str:
    parts = ["you write the first sentence of a story", "you add one sentence after the other"]
    if config["suggestions"]:
        parts[1] = (
            "every second sentence begins as a suggestion by a computer, which is already in the box: keep it, change "
            "it, or delete it and write your own"
        )
    parts.append("you say what you think of your story")
    least, most = config["least_characters"], config["most_characters"]
    return (
        f"You write a story in {counted(config['sentences'], 'sentence')}. {task_in_sentences(parts)}\n\n"
        f"Each sentence has {least} to {most} characters. A sentence cannot be changed after you have added it."
    )
