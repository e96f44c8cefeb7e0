"""The scale with the published names of its points, and the default texts. Descriptions and examples are ours."""

from __future__ import annotations

from collections.abc import Mapping

from analysis.description import Scale
from annotation.task_types.base import Text
from annotation.task_types.wording import scale_texts

QUALITY = Scale.of(
    "quality",
    "ordinal",
    ["High Quality", "Decent", "Passable", "Bad", "Terrible"],
    descriptions=[
        "Reads as if a careful person wrote it. It is fluent, makes sense and follows from the beginning.",
        "Fluent and sensible, with a small flaw that you notice only when you look for it.",
        "You can follow it, but something is awkward, repeated or does not quite fit.",
        "Hard to follow: it contradicts itself, loses the subject or has many mistakes.",
        "Makes no sense: random words, broken sentences or the same words over and over.",
    ],
)
EXAMPLE_CONTEXT = "The town council voted on Tuesday to keep the old swimming pool open for another year, after"
#: One continuation of the example for each label, by the point's key.
EXAMPLES: Mapping[str, str] = {
    "5": "more than two thousand people had signed a petition. The repairs will be paid for from the money that was "
    "meant for a second car park.",
    "4": "residents said that it is the only place in town where children can learn to swim. The council council will "
    "look at the costs again in",
    "3": "people came to the meeting. The pool is a pool that the town has, and many people in the town like the pool "
    "and they said so at the",
    "2": "the pool closed on Monday for ever. Swimmers were happy that it will stay closed and open, and the mayor of "
    "the match scored twice before",
    "1": "of of the pool pool the the , vote 17 swim Tuesday pool pool the , , of the and pool the the vote , of",
}
GROUP, REFERENCE = "Labels", "Reference examples"


def quality_texts() -> list[Text]:
    """All texts of the type."""
    instructions = (
        "You read the beginning of a news text and several ways to continue it. Give each continuation one of five "
        "labels. Judge the continuation only, not the beginning: is it well written, does it make sense, and does it "
        "follow from the beginning?\n\nEvery continuation was cut off after a fixed length, so most stop in the middle "
        "of a sentence or a word. Do not mark them down for that."
    )
    texts = [
        Text("instructions", "Instructions", instructions, lines=8),
        Text("title", "Title of the page", "Rate each continuation"),
        Text(
            "cut",
            "Reminder that texts were cut",
            "Every continuation was cut off after the same length. Do not mark a text down because it stops in the "
            "middle of a sentence or a word.",
            lines=2,
        ),
        Text("continuation", "Heading of a continuation; {n} is its number", "Continuation {n}"),
        Text("question", "Question", "How good is this continuation?"),
        Text("reference.heading", "Heading of the examples", "The five labels, with an example of each", REFERENCE),
        Text("reference.context", "Beginning that the examples continue", EXAMPLE_CONTEXT, REFERENCE, 2),
        *scale_texts("quality", QUALITY, GROUP),
    ]
    for point in QUALITY.points:
        label = f"{point.key}: example"
        texts.append(Text(f"quality.{point.key}.example", label, EXAMPLES[point.key], REFERENCE, 2))
    return texts
