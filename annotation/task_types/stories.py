"""What the types share whose workers write a story line by line, with suggestions at every second line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.quality_control.work import WrittenText
from annotation.task_types.base import Answers, OutputData, Page, Shown
from annotation.task_types.items import Json
from annotation.task_types.offers import OfferData
from annotation.task_types.writing import Position, WritingType

#: What simulated writers add to a suggestion.
ADDITIONS = ("Nobody knew why.", "It was late.", "And then it rained.", "That was all.")


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One line as submitted on page ``step``. ``offer`` is the suggestion that it began as, if any."""

    step: int
    number: int
    text: str
    offer: OfferData | None = None


class StoryType(WritingType):
    """A story to each prompt."""

    suggester_fields = ("story", "prompt")
    output_kinds = ("text", "turn")

    def suggestion_rounds(self, config: Json) -> int:
        return self.lines(config) // 2

    @abstractmethod
    def line_at(self, shown: Shown, step: int, page_answers: Answers) -> StoryLine:
        """The line that was written on page ``step``, counted from 0."""

    def story(self, shown: Shown, answers: Sequence[Answers], number: int) -> list[StoryLine]:
        """The lines of story ``number`` (from 0) on the pages that have ``answers``."""
        lines = self.lines(shown.config)
        start = number * (lines + 1)
        steps = range(start, min(start + lines, len(answers)))
        return [self.line_at(shown, step, answers[step]) for step in steps]

    def story_context(self, shown: Shown, position: Position) -> Json:
        """The context of a page's template: the prompt with its picture, and which story this is."""
        payload = shown.items[position.item].payload
        image = {name: payload.get(name) for name in ("image", "image_alt", "image_size")}
        return image | {
            "prompt": payload["prompt"],
            "prompt_heading": shown.texts["prompt.heading"],
            "story_number": position.text + 1,
            "stories": len(shown.items),
        }

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Each story, and each of its lines with the story before it as the context."""
        outputs = []
        for number, item in enumerate(shown.order["items"]):
            lines = self.story(shown, answers, number)
            outputs.append(OutputData("text", shown.items[item].payload["prompt"], [as_text(lines)], None, item))
            outputs += [
                OutputData("turn", as_text(lines[: line.number - 1]), [line.text], ("turn", float(line.number)), item)
                for line in lines
            ]
        return outputs

    def written(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> Iterable[WrittenText]:
        """All texts except lines that are not the writer's own. Lines could be copied from the story before them."""
        for text in super().written(shown, pages, answers):
            if text.key != self.line_topic:
                yield text
            elif self.is_own(self.line_at(shown, text.step, answers[text.step])):
                number = self.position_of(shown, text.step).text
                yield replace(text, sources=[as_text(self.story(shown, answers[: text.step], number))])

    def is_own(self, line: StoryLine) -> bool:
        """Whether the writer wrote the line. Default: every line that did not begin as a suggestion."""
        return line.offer is None


def as_text(lines: Sequence[StoryLine]) -> str:
    """The story as one text: what suggesters continue and other studies judge."""
    return " ".join(" ".join(line.text.split()) for line in lines)
