"""What workers read in a slogan study, as texts that a study can reword."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.task_types.base import Text
from annotation.task_types.items import Json
from annotation.task_types.surveys import survey_texts
from annotation.task_types.wording import recording_texts, task_in_sentences

NEEDS = "Fill in both boxes to get suggestions."
NEEDS_KEYWORDS = "Enter at least one keyword."
NEEDS_SLOGAN = "Write a first draft of your slogan. You can still change it."
FEWER = "Not all suggestions came in time. Use what is here, or ask again."


def texts_of(config: Json) -> Sequence[Text]:
    writing, rating = "Page on which a slogan is written", "Page after each slogan"
    texts = [
        Text("instructions", "Instructions", _instructions(config), lines=8),
        Text("prompt.heading", "Heading of the prompt", "What the slogan is for"),
        Text("write.title", "Title", "Write a slogan", writing),
        Text("slogan.label", "Label of the box for the slogan", "Your slogan", writing),
        Text("rating.title", "Title", "Your slogan is finished", rating),
        Text("rating.heading", "Heading of the slogan", "Your slogan", rating),
        Text("rating.question", "Line above the statements", "How much do you agree?", rating),
    ]
    if config["suggestions"]:
        many = len(config["suggesters"]) > 1
        keywords_help = "What the suggestions should be about. You can change your keywords as often as you like."
        spent = "You have used all requests for this slogan. You can still use the suggestions below."
        texts += [
            Text("keywords.label", "Label of the box for keywords", "Keywords", writing),
            Text("keywords.help", "Help for that box", keywords_help, writing, 2),
            Text("pull.heading", "Heading of the suggestions, for screen readers", "Suggestions", writing),
            Text("pull.button", "Button", "Get suggestions" if many else "Get a suggestion", writing),
            Text("pull.spent", "Shown when no requests are left", spent, writing, 2),
            Text("pull.needs", "Line above what is missing for suggestions", NEEDS, writing),
            Text("pull.needs_keywords", "Shown while there are no keywords", NEEDS_KEYWORDS, writing),
            Text("pull.needs_slogan", "Shown while there is no first draft of the slogan", NEEDS_SLOGAN, writing),
            Text("pull.none", "Shown for a request that brought nothing", "No suggestion came this time.", writing),
            Text("pull.fewer", "Shown for a request that brought fewer suggestions than promised", FEWER, writing),
            Text("pull.use", "Button beside a suggestion", "Use it", writing),
            Text("pull.back", "Button that brings back what was in the box", "Put back what I had", writing),
        ]
    return [*texts, *survey_texts(config), *recording_texts(config)]


def _instructions(config: Json) -> str:
    count = len(config["suggesters"])
    offered = "a suggestion" if count == 1 else f"{count} suggestions"
    parts = ["you read what the slogan is for"]
    if config["suggestions"]:
        parts.append(
            f"you enter keywords and write a first draft, then press a button to get {offered} from a computer, as "
            "often as you like"
        )
        parts.append("you finish your slogan: use a suggestion, change it, or write your own")
    else:
        parts.append("you write your slogan")
    parts.append("you say what you think of it")
    return f"{task_in_sentences(parts)}\n\nA slogan cannot be changed after you have sent it."
