"""Clark 2021: writers alone and with a machine (ch. 2), two suggesters (ch. 4), human or machine (ch. 6)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import product

import numpy as np

from analysis.data import StudyData
from analysis.study_tables import OfferRow, OwnRatingRow
from bench.papers.drawn import BEGAN, WORDS, Drawn, description_of, on_scale, sentence
from bench.papers.published import Published

DOMAINS, MODELS = ("story", "news", "recipe"), ("gpt2", "gpt3")
#: Log odds of a right answer without training by model, and with GPT-3's texts by training.
SKILL = {("none", "gpt2"): 0.35, ("none", "gpt3"): 0.0, ("instructions", "gpt3"): 0.05,
         ("examples", "gpt3"): 0.22, ("comparison", "gpt3"): 0.1}  # fmt: skip
#: How much higher writers rate their texts with suggestions, and other people do, in points of seven.
OWN = {
    "clark_mil_story": {"creative": 0.3, "coherent": -0.7, "entertaining": 0.2, "grammatical": 0.1, "satisfied": -0.4},
    "clark_slogan": {"creative": -0.2, "catchy": -0.3, "relevant": 0.1, "satisfied": -0.2},
}
OTHERS = {
    "clark_story_ratings": {"creative": 0.2, "coherent": -0.4, "entertaining": 0.1, "grammatical": 0.0, "liked": -0.2},
    "clark_slogan_ratings": {"creative": -0.1, "catchy": -0.2, "relevant": 0.0, "liked": -0.1},
}
SIZES = {
    "published": {"workers": 130, "texts": 50, "writers": 9, "raters": 60, "authors": 50, "stories": 60},
    "small": {"workers": 6, "texts": 10, "writers": 4, "raters": 12, "authors": 6, "stories": 6},
}

_WRITERS = (
    "Each statement's means, t and U by arm. The paper's tests are those of workers' means; our difference and p, "
    "about new workers and prompts, are columns of their own."
)
_OTHERS = (
    "The paper's tests over texts (27 in each arm): a text counts once. *What the study found* in the report has the "
    "difference about new texts and new raters."
)
TABLES = (
    Published(
        "Table 2.2, writers",
        "stories alone and with a machine",
        "stories",
        "arm_tests",
        "Two arms on each question",
        _WRITERS,
    ),
    Published(
        "Table 2.2, third parties",
        "the same stories, rated by nine people each",
        "stories by others",
        "origin_tests",
        "Texts by from:arm",
        _OTHERS,
    ),
    Published(
        "Table 2.3, writers",
        "slogans alone and with a machine",
        "slogans",
        "arm_tests",
        "Two arms on each question",
        _WRITERS,
    ),
    Published(
        "Table 2.3, third parties",
        "the same slogans, rated by nine people each",
        "slogans by others",
        "origin_tests",
        "Texts by from:arm",
        _OTHERS,
    ),
    Published(
        "Table 2.4, stories",
        "would writers use it again?",
        "stories",
        "answers",
        "use_again: percent of each answer, as published",
        "In percent of answers, as printed; the answers are nominal and have no mean.",
    ),
    Published(
        "Table 2.4, slogans",
        "the same of slogans",
        "slogans",
        "answers",
        "use_again: percent of each answer, as published",
        "The same.",
    ),
    Published(
        "Table 2.4, stories, with intervals",
        "the same of stories",
        "stories",
        "answers",
        "use_again: share of each answer",
        "Shares of 1 with intervals about new writers, and n.",
    ),
    Published(
        "Table 2.4, slogans, with intervals",
        "the same of slogans",
        "slogans",
        "answers",
        "use_again: share of each answer",
        "The same.",
    ),
    Published(
        "Sections 2.6.4–5, stories",
        "writers' judgements and other people's",
        "stories by others",
        "own_ratings",
        "Own ratings and those by others",
        "Pearson's r of each scale over texts, with an interval.",
    ),
    Published(
        "Sections 2.6.4–5, slogans",
        "the same of slogans",
        "slogans by others",
        "own_ratings",
        "Own ratings and those by others",
        "The same.",
    ),
    Published(
        "Section 3.7",
        "which text continues the story",
        "sentence choice",
        "preference",
        "the paper’s test",
        "The paper's binomial test. The report also has the share about new passages and workers.",
    ),
    Published(
        "Section 4.5, choices",
        "whose suggestions are chosen",
        "two suggesters",
        "choices",
        "tests",
        "The paper's binomial tests beside those that respect that one writer chooses several times.",
    ),
    Published(
        "Section 4.5, edits",
        "how far suggestions are edited",
        "two suggesters",
        "edits",
        "Edits of accepted suggestions",
        "Levenshtein distance, Jaccard and USER; the paper's U is in the report.",
    ),
    Published(
        "Section 4.5, texts",
        "suggestions and lines written alone",
        "two suggesters",
        "story_texts",
        "Texts by source",
        "Sentence length and distinct-n; concreteness too, if HITSERVER_CONCRETENESS names a file of ratings.",
    ),
    Published(
        "Table 6.1",
        "accuracy by model and domain",
        "detection",
        "human_or_machine",
        "Accuracy and related measures by model and domain in percent, as published",
        "Accuracy, F1, precision, recall and answers in percent; α is a coefficient.",
    ),
    Published(
        "Table 6.1, with intervals",
        "the same as shares of 1",
        "detection",
        "human_or_machine",
        "Accuracy and related measures by model and domain",
        "Shares of 1, with an interval of the accuracy about new texts and new workers; p is ours, corrected by Holm.",
    ),
    Published(
        "Table 6.1, the paper's tests",
        "against chance",
        "detection",
        "human_or_machine",
        "Against chance by model and domain",
        "One-sample t over workers, with the paper's Bonferroni limit beside ours.",
    ),
    Published(
        "Table 6.2",
        "accuracy by training and domain",
        "detection",
        "human_or_machine",
        "Accuracy and related measures by training and domain in percent, as published",
        "As Table 6.1, for GPT-3's texts.",
    ),
    Published(
        "Table 6.2, with intervals",
        "the same as shares of 1",
        "detection",
        "human_or_machine",
        "Accuracy and related measures by training and domain",
        "The same.",
    ),
    Published(
        "Table 6.2, the paper's tests",
        "between trainings",
        "detection",
        "human_or_machine",
        "Accuracy between levels of training",
        "Tukey's HSD over workers is the column “Paper's p”.",
    ),
    Published(
        "Histogram of scores, GPT-2",
        "scores out of 5 with GPT-2's texts",
        "detection",
        "human_or_machine",
        "Texts judged right, out of 5: gpt2",
        "Workers by number of texts judged right, with what guessing gives.",
        kind="figure",
    ),
    Published(
        "Histogram of scores, GPT-3",
        "scores out of 5 with GPT-3's texts",
        "detection",
        "human_or_machine",
        "Texts judged right, out of 5: gpt3",
        "The same.",
        kind="figure",
    ),
    Published(
        "Table 6.3",
        "what comments mention, by training",
        "comments",
        "coding",
        "Category by writer’s training in percent of labels, as published",
        "In percent of labels, as printed: a column adds up to 100.",
    ),
    Published(
        "Table 6.3, with intervals",
        "the same of labels and of comments",
        "comments",
        "coding",
        "Category by writer’s training",
        "*Of labels* adds up to 100 in each training; *of comments* counts comments, which can have several labels.",
    ),
)


def studies(size: str, seed: int) -> Iterator[tuple[str, StudyData]]:
    n = SIZES[size]
    files = (("stories", "clark_mil_story", "clark_story_ratings"), ("slogans", "clark_slogan", "clark_slogan_ratings"))
    for number, (name, writers_file, raters_file) in enumerate(files):
        share = seed + number
        yield name, writing(writers_file, n["writers"], share)
        yield f"{name} by others", third_parties(writers_file, raters_file, n["writers"], n["raters"], share)
    yield "sentence choice", sentence_choice(n["texts"], 11, seed)
    yield "two suggesters", two_suggesters(n["stories"], seed)
    yield "detection", detection(n["workers"], n["texts"], seed)
    yield "comments", comments(n["authors"], seed)


def detection(workers: int, texts: int, seed: int) -> StudyData:
    """15 cells: five texts of one domain, by people and one model, for each worker."""
    rng, study = np.random.default_rng([seed, 6]), Drawn(description_of("clark_detection"))
    names = {key: [f"{'-'.join(key)}-{at}" for at in range(texts)] for key in product(DOMAINS, ("human", *MODELS))}
    hardness = {}
    for (domain, source), group in names.items():
        for name in group:
            study.add_item(name, texts=[["A text."]], cells={"source": source, "domain": domain})
            hardness[name] = rng.normal(0, 0.5)
    for (training, model), domain in product(SKILL, DOMAINS):
        for number in range(workers):
            arm, machine_texts = f"{domain}-{model}-{training}", 2 + number % 2
            submission, ability = study.submit(f"{arm}-{number}", arm=arm), rng.normal(0, 0.4)
            chosen = [*rng.choice(names[domain, model], machine_texts, replace=False),
                      *rng.choice(names[domain, "human"], 5 - machine_texts, replace=False)]  # fmt: skip
            for text in map(str, chosen):
                right = rng.random() < 1 / (1 + np.exp(hardness[text] - ability - SKILL[training, model]))
                says_machine, sure = right == (model in text), rng.random() < 0.4
                study.rate(submission, text, "judgement", (4.0 if sure else 3.0) if says_machine else 2.0 - sure)
    return study.data


#: How often a comment mentions each category, by training: after examples, people look at content more.
MENTIONS = {"none": (0.55, 0.35, 0.25), "examples": (0.35, 0.6, 0.15)}


def comments(authors: int, seed: int) -> StudyData:
    """Two coders label one comment of each author, ``authors`` in every domain of every training."""
    rng, study = np.random.default_rng([seed, 63]), Drawn(description_of("clark_coding"))
    (question,) = study.description.questions
    labels: dict[str, list[str]] = {}
    for row in study.description.config["labels"]:
        labels.setdefault(row["category"], []).append(row["label"])
    null = labels.pop(study.description.config["null_category"])
    coders = [study.submit(name) for name in ("coder-1", "coder-2")]
    for (training, mentions), domain in product(MENTIONS.items(), DOMAINS):
        for number in range(authors):
            name = f"{domain}-{training}-{number}"
            cells = {"domain": domain, "from:arm": f"{domain}-gpt3-{training}", "from:training": training}
            study.add_item(name, texts=[["A comment."]], cells=cells)
            true = {str(rng.choice(members)) for members, share in zip(labels.values(), mentions, strict=True)
                    if rng.random() < share} or {null[-1]}  # fmt: skip
            for submission in coders:
                seen = {label for label in question.targets if (label in true) != (rng.random() < 0.02)} or true
                for label in question.targets:
                    study.rate(submission, name, "labels", float(label in seen), target=label)
    return study.data


def writing(file: str, writers: int, seed: int) -> StudyData:
    """Writers alone or with suggestions: three texts each, ten sentences or a slogan, and a survey at the end."""
    rng, study = np.random.default_rng([seed, 2]), Drawn(description_of(file))
    words, effects = random.Random(seed), OWN[file]
    for prompt in range(3):
        study.add_item(f"prompt-{prompt}", context=f"Prompt {prompt}")
    for arm, number in product(("mil", "solo"), range(writers)):
        submission, taste = study.submit(f"{arm}-{number}", arm=arm, seconds=1500.0), rng.normal(0, 0.7)
        for item in study.items:
            if "slogan" in study.scales:
                study.write(submission, item.item, "slogan", sentence(words, 5))
            else:
                write_story(study, submission, item.item, words, suggested=arm == "mil")
            for topic, effect in effects.items():
                value = 4.6 + effect * (arm == "mil") + taste + rng.normal(0, 0.9)
                study.rate(submission, item.item, topic, on_scale(value, 1, 7))
        study.rate(submission, "", "enjoyed", on_scale(5 + taste + rng.normal(0, 0.8), 1, 7))
        if arm == "mil":
            study.rate(submission, "", "use_again", float(rng.choice([4, 3, 2, 1], p=[0.25, 0.45, 0.2, 0.1])))
            for topic in [topic for topic in study.scales if topic.startswith("suggestions_")]:
                study.rate(submission, "", topic, on_scale(3.8 + rng.normal(0, 1.2), 1, 7))
    return study.data


def write_story(study: Drawn, submission: int, item: str, words: random.Random, *, suggested: bool) -> None:
    """Ten sentences; with ``suggested``, every second one began as a suggestion."""
    for at in range(1, 11):
        text = sentence(words, 9)
        if suggested and at % 2 == 0:
            suggestion = sentence(words, 8, WORDS[:25])
            add_offer(study, submission, item, at // 2, "model-a", suggestion, chosen=True)
            text = edited(suggestion, words)
        study.write(submission, item, "sentence", text, target=str(at))


def third_parties(writers_file: str, file: str, writers: int, raters: int, seed: int) -> StudyData:
    """Nine people rate each of three texts by every writer of both arms; the writers rated them, too."""
    rng, study = np.random.default_rng([seed, 26]), Drawn(description_of(file))
    leniency = rng.normal(0, 0.5, raters)
    for arm, number, prompt in product(("mil", "solo"), range(writers), range(3)):
        name, merit = f"{arm}-{number}-{prompt}", rng.normal(0, 0.6)
        study.add_item(name, context=f"Prompt {prompt}", texts=[["A text."]], cells={"from:arm": arm})
        for topic, effect in OWN[writers_file].items():
            if topic in OTHERS[file]:
                own = 4.6 + effect * (arm == "mil") + 0.5 * merit + rng.normal(0, 0.9)
                study.own_ratings.append(OwnRatingRow(name, f"{arm}-{number}", topic, on_scale(own, 1, 7)))
        for rater in rng.choice(raters, 9, replace=False):
            submission = study.submit(f"rater-{rater}", seconds=90.0)
            for topic, effect in OTHERS[file].items():
                value = 4.3 + effect * (arm == "mil") + merit + leniency[rater] + rng.normal(0, 1.1)
                study.rate(submission, name, topic, on_scale(value, 1, 7))
    return study.data


def sentence_choice(passages: int, workers: int, seed: int) -> StudyData:
    """Which of two texts continues a story: ``workers`` people for each passage."""
    rng, study = np.random.default_rng([seed, 37]), Drawn(description_of("clark_sentence_choice"))
    for at in range(passages):
        cells = {"system_1": "entity model", "system_2": "language model"}
        study.add_item(f"passage-{at}", context=f"Passage {at}", texts=[["A text."], ["Another."]], cells=cells)
        better = 0.35 + rng.normal(0, 0.8)
        for worker in rng.choice(3 * workers, workers, replace=False):
            first = rng.random() < 1 / (1 + np.exp(-better))
            study.rate(study.submit(f"worker-{worker}"), f"passage-{at}", "continues", 1.0 if first else -1.0)
    return study.data


def two_suggesters(stories: int, seed: int) -> StudyData:
    """Stories of ten turns; in five of them, writers choose between suggestions of two models and edit one."""
    rng, study = np.random.default_rng([seed, 4]), Drawn(description_of("clark_cyoa"))
    words, agree = random.Random(seed), [topic for topic, scale in study.scales.items() if scale.name == "agreement"]
    names = {"model-a": WORDS[:20], "model-b": WORDS}
    for prompt in range(6):
        study.add_item(f"prompt-{prompt}", context=f"Prompt {prompt}")
    for number in range(stories):
        submission, item = study.submit(f"writer-{number}", seconds=900.0), f"prompt-{number % 6}"
        taste = rng.normal(0, 0.5)
        for turn in range(1, 11):
            if turn % 2:
                study.write(submission, item, "turn", sentence(words, 10), target=str(turn))
                continue
            chosen = "model-b" if rng.random() < 1 / (1 + np.exp(-0.4 - taste)) else "model-a"
            texts = {name: sentence(words, 9, vocabulary) for name, vocabulary in names.items()}
            for name, text in texts.items():
                add_offer(study, submission, item, turn // 2, name, text, chosen=name == chosen)
            study.write(submission, item, "turn", edited(texts[chosen], words), target=str(turn))
        for topic in agree:
            study.rate(submission, item, topic, on_scale(3.4 + 0.4 * taste + rng.normal(0, 0.9), 1, 5))
    return study.data


def edited(text: str, rng: random.Random) -> str:
    """The suggestion as a writer sends it: unchanged in two of five cases, else with other words here and there."""
    if rng.random() < 0.4:
        return text
    return " ".join(rng.choice(WORDS) if rng.random() < 0.3 else word for word in text.split())


def add_offer(study: Drawn, submission: int, item: str, turn_round: int, name: str, text: str, *, chosen: bool) -> None:
    sides: Sequence[str] = ("model-a", "model-b")
    when = (1.5, BEGAN, BEGAN + timedelta(seconds=2))
    place = (submission, item, 2 * turn_round - 1, turn_round, str(sides.index(name) + 1), 1)
    study.offers.append(OfferRow(*place, name, "toy", "top_p=0.9", "7", "live", *when, text, chosen, 0))
