"""The scale with the published names of its points, and the default texts.

The descriptions say in our words what each label means in the paper (Zhang et al. 2020, figure 3). The examples are
ours.
"""

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
        "Plausible from beginning to end. A person could have written it.",
        "Reads naturally, but one or two things are slightly odd or contradict each other.",
        "Looks plausible at a glance but does not make sense: it is off the topic, repeats itself or seriously "
        "contradicts itself.",
        "Contains no plausible English sentence: the same words over and over, or scraps of web pages, such as "
        "captions and sharing buttons.",
        "Not valid English at all.",
    ],
)
EXAMPLE_CONTEXT = "The town council voted on Tuesday to keep the old swimming pool open for another year, after"
#: One continuation of the example for each label, by the point's key.
EXAMPLES: Mapping[str, str] = {
    "5": "more than two thousand people had signed a petition. The repairs will be paid for from the money that was "
    "meant for a second car park.",
    "4": "hundreds of residents had signed a petition. The mayor thanked all forty of them and said that the council "
    "will look at the costs again in",
    "3": "the pool closed on Monday for ever. Swimmers were happy that it will stay closed and open, and the mayor of "
    "the match scored twice before",
    "2": "the pool the pool the pool the pool Photo: the pool Share this page Print Email Read more Read more Image 1 "
    "of 4 Read more the pool the",
    "1": "vot pool,, 17 tht swm Tu esday oo lhe vo te , of ing pool er 4 4 pl rep the,the vt o,, ing Tu of lhe",
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
