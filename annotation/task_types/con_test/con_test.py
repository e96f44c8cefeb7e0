"""Write several different responses, then rephrase one of them in several ways."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product

from django import forms

from analysis.description import Point, ReportSection, Scale
from annotation.languages import gettext as _
from annotation.task_types.base import Answers, OutputData, Page, Shown, TaskType, Text
from annotation.task_types.items import Column, ItemData, ItemFacts, Json
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Question
from annotation.task_types.settings import ConfigForm, Sizes, record_edits_field
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.wording import TASK_WORDS, recording_texts, task_in_sentences
from common.text_length import normalised

WHO = ("nobody", "everybody", "my neighbour", "the old teacher", "her little brother", "some stranger")
DID = ("forgot", "found", "repaired", "painted", "sold", "hid")
WHAT = ("the key", "a blue boat", "their garden", "every letter", "the wrong hat", "my umbrella")
OPENERS = (
    "Well,",
    "Honestly,",
    "Indeed,",
    "Yes,",
    "Really,",
    "Surely,",
    "Somehow,",
    "Apparently,",
    "Certainly,",
    "Again,",
)


def written(worker: SimulatedWorker, page: str, count: int, *, most_words: int, rephrase: str = "") -> list[str]:
    """``count`` different texts. With ``rephrase``: that text, each time with a different word before it.

    Careless workers write a word and a number.
    """
    rng = worker.rng(page)
    if worker.profile == "careless":
        return [f"{'same' if rephrase else 'ok'} {number}" for number in range(1, count + 1)]
    if rephrase:
        texts = [f"{opener} {rephrase}" for opener in rng.sample(OPENERS, count)]
    else:
        texts = [" ".join(words).capitalize() + "." for words in rng.sample(list(product(WHO, DID, WHAT)), count)]
    texts = [" ".join(text.split()[:most_words]) for text in texts]
    if len(set(texts)) == len(texts):
        return texts
    # A low limit has cut some to the same words.
    return [f"{text.split()[0]} {number}" for number, text in enumerate(texts, start=1)]


LABEL = "content_diversity"
#: The pages about one item: write different responses, choose one, rephrase it.
KINDS = ("high", "choose", "low")


class ConTestConfig(ConfigForm):
    """What to write, and how much; initially as published."""

    generation_task = forms.ChoiceField(
        label="What workers write",
        choices=[
            ("story", "Story completion: endings of a story"),
            ("response", "Response generation: replies to a comment"),
            ("prompt", "Prompt completion: continuations of a few words"),
        ],
        initial="response",
        help_text="Gives the context and the responses their names on the page.",
    )
    responses = forms.IntegerField(
        label="Responses per set",
        min_value=2,
        max_value=10,
        initial=5,
        help_text="Each worker writes this many different responses, then says one of them again this many times.",
    )
    max_words = forms.IntegerField(label="Maximum words in a response", min_value=3, max_value=200, initial=15)
    record_edits = record_edits_field()


class ConTest(TaskType):
    """Three pages for each context. The third shows the response that was chosen on the second."""

    name = "con_test"
    pictured = 0
    title = "conTest"
    summary = "Workers write responses that differ as much as possible, then rephrase one of them."
    source = "Tevet & Berant 2021, §6.4"
    balance = "The order of the contexts was random for every worker."
    group = "Diversity of sets"
    own_work = True
    config_form = ConTestConfig
    # One writer for each context in the released sets.
    suggested = Sizes(items_per_hit=1, ratings_per_item=1, hits_per_worker=None)
    output_kinds = ("set",)

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("sample_id", "the context's id", example="c1"),
            Column("context", "the text that workers answer or continue", example="I lost my keys again."),
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["context"])

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("productions", {"high": "high", "low": "low"}),)

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the contexts."""
        order = list(range(len(items)))
        rng.shuffle(order)
        return {"items": order}

    def length(self, shown: Shown) -> int:
        return len(KINDS) * len(shown.items)

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        item_number, kind = divmod(len(answers), len(KINDS))
        if item_number >= len(shown.items):
            return None
        index = shown.order["items"][item_number]
        context = {
            "place": item_number + 1,
            "places": len(shown.items),
            "heading": shown.texts["heading"],
            "context_text": shown.items[index].payload["context"],
        }
        if KINDS[kind] == "high":
            return self._page(shown, "high", item_number, index, _boxes("high", shown.config, shown.texts), context)
        responses = own_responses(answers[item_number * len(KINDS)], "high")
        if KINDS[kind] == "choose":
            return self._page(shown, "choose", item_number, index, [_choice(shown.texts, responses)], context)
        context |= {"chosen": responses[chosen_place(answers[-1])], "chosen_heading": shown.texts["chosen.heading"]}
        return self._page(shown, "low", item_number, index, _boxes("low", shown.config, shown.texts), context)

    def _page(
        self, shown: Shown, kind: str, item_number: int, index: int, questions: Sequence[Question], context: Json
    ) -> Page:
        context["explain"] = shown.texts[f"{kind}.explain"]
        title = shown.texts[f"{kind}.title"]
        return Page(f"{kind}-{item_number + 1}", title, "con_test/write.html", questions, context, index)

    def check(self, shown: Shown, page: Page, page_answers: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        """All texts must differ from each other and, on the last page, from the chosen response."""
        label_of_words: dict[str, str] = {}
        if page.name.startswith("low"):
            label_of_words[same_words(str(page.context["chosen"]))] = f"“{page.context['chosen_heading']}”"
        errors: dict[str, str] = {}
        for question in page.questions:
            if isinstance(text := page_answers.get(question.key), str):
                first_label = label_of_words.setdefault(same_words(text), f"“{question.label}”")
                if first_label != f"“{question.label}”":
                    errors[question.key] = _("This is the same as %(text)s. Please write something else.") % {
                        "text": first_label
                    }
        return errors

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        responses = [
            texts["response.label"].replace("{n}", str(number)) for number in range(1, config["responses"] + 1)
        ]
        high, low = (_boxes(kind, config, texts)[0] for kind in ("high", "low"))
        return [high, _choice(texts, responses), low]

    def texts(self, config: Json) -> Sequence[Text]:
        words, count, most = TASK_WORDS[config["generation_task"]], config["responses"], config["max_words"]
        response, responses, context = words["response"], words["responses"], words["context"]
        limit = f"Write one sentence each time, at most {most} words."
        high, choose, low = (f"{position} page" for position in ("First", "Second", "Third"))
        return [
            Text("instructions", "Instructions", _instructions(config), lines=6),
            Text("heading", "Heading of the context", words["heading"]),
            Text("response.label", "Label of a box; {n} is its number", f"{response.capitalize()} {{n}}"),
            Text("high.title", "Title", f"Write {count} different {responses}", high),
            Text(
                "high.explain",
                "Explanation",
                f"Write {count} {responses} that are as different from each other as you can make them: each should "
                f"say something else, in other words. All of them should fit the {context}. {limit}",
                high,
                3,
            ),
            Text("choose.title", "Title", f"Choose one of your {responses}", choose),
            Text(
                "choose.explain",
                "Explanation",
                f"On the next page you will rephrase one {response} {count} times. Choose the {response} that is "
                "easiest to rephrase.",
                choose,
                3,
            ),
            Text("choose.question", "Question", f"Which {response} do you want to rephrase?", choose),
            Text("low.title", "Title", f"Rephrase it {count} times", low),
            Text("chosen.heading", "Heading of the chosen response", f"The {response} that you chose", low),
            Text(
                "low.explain",
                "Explanation",
                f"Write {count} {responses} that all say the same as the one that you chose, each in different words. "
                f"Keep what it says and change how it says it. {limit}",
                low,
                3,
            ),
            *recording_texts(config),
        ]

    # --- what becomes of it ---

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        """Two sets for each context: label 1 for the different responses, 0 for the rephrased ones."""
        outputs = []
        for page, page_answers in zip(pages, answers, strict=True):
            kind = page.name.partition("-")[0]
            if kind != "choose" and page.item is not None:
                context = shown.items[page.item].payload["context"]
                label = (LABEL, 1.0 if kind == "high" else 0.0)
                outputs.append(OutputData("set", context, own_responses(page_answers, kind), label, page.item))
        return outputs

    def simulate(self, worker: SimulatedWorker, shown: Shown, page: Page, before: Sequence[Answers]) -> dict[str, str]:
        if page.name.startswith("choose"):
            return super().simulate(worker, shown, page, before)
        keys = [question.key for question in page.questions]
        chosen = str(page.context.get("chosen", ""))
        texts = written(worker, page.name, len(keys), most_words=shown.config["max_words"], rephrase=chosen)
        return dict(zip(keys, texts, strict=True))


def own_responses(page_answers: Answers, kind: str) -> list[str]:
    """The texts from a page, in the order of its boxes. A database may return the answers in a different order."""
    return [str(page_answers[f"{kind}-{number}"]) for number in range(1, len(page_answers) + 1)]


def chosen_place(page_answers: Answers) -> int:
    """The index of the response that was chosen."""
    chosen = page_answers["chosen"]
    assert isinstance(chosen, int | float)  # noqa: S101 - a required choice
    return int(chosen) - 1


def same_words(text: str) -> str:
    """A form of the text without case, spacing and punctuation, for comparisons."""
    return normalised(text) or text.strip()


def _boxes(kind: str, config: Json, texts: Mapping[str, str]) -> list[TextQuestion]:
    return [
        TextQuestion(
            f"{kind}-{number}",
            texts["response.label"].replace("{n}", str(number)),
            kind,
            target=str(number),
            max_words=config["max_words"],
        )
        for number in range(1, config["responses"] + 1)
    ]


def _choice(texts: Mapping[str, str], responses: Sequence[str]) -> ChoiceQuestion:
    points = tuple(Point(float(number), text) for number, text in enumerate(responses, start=1))
    return ChoiceQuestion("chosen", texts["choose.question"], "chosen", Scale("own response", "nominal", points))


def _instructions(config: Json) -> str:
    words, count = TASK_WORDS[config["generation_task"]], config["responses"]
    return task_in_sentences(
        [
            f"you write {count} {words['responses']} that are as different from each other as possible",
            f"you choose one of your {words['responses']}",
            f"you write {count} {words['responses']} that say the same as the one you chose, in different words",
        ]
    )
