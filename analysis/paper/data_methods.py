"""Quality control, exclusions, data, agreement, analysis and ethics, for the methods of a paper."""

from __future__ import annotations

import json
from collections.abc import Sequence

from analysis.description import StoppingRule, StudyDescription
from analysis.paper.prose import Numbers, Paragraph, blank, cite, listed, quoted, words
from analysis.quality_control.exclusion import Exclusion, label_of
from analysis.quality_control.rules import RULES
from common.left_out import REASONS

DATA, ANSWERS = ("sections", "data"), ("sections", "answers")
#: Rules that can find nothing without items of a role, or in a study without texts by workers.
ROLE_OF_RULE = {"gold_wrong": "gold", "attention_failed": "attention"}
TEXT_RULES = ("too_short", "copied", "pasted", "same_text", "gibberish", "language")
#: Parts of the report's own words, and the sentence that says which method they mean. Methods are named only if the
#: report has their words.
METHODS: Sequence[tuple[Sequence[str], str]] = (
    (
        ("two-way clusters", "new items and new workers"),
        "Intervals are at 95% and, unless we say otherwise, about new items and new workers: answers are clustered by "
        f"item and by worker{cite('cameron2011')}, with Student’s t.",
    ),
    (
        ("p, Holm", "Holm’s correction", "(Holm)"),
        f"p values of a family of comparisons carry Holm’s correction{cite('holm1979')}; tables name the family.",
    ),
    (("Cohen’s d",), f"Effect sizes are Cohen’s d{cite('cohen1988')} in standard deviations of single answers."),
    (
        ("Equivalent within",),
        f"Levels are equivalent within a margin if two one-sided tests at 5% say so{cite('schuirmann1987')}.",
    ),
    (
        ("confidence sequence",),
        "Intervals called confidence sequences, and the p values beside them, hold at all times at once, however often "
        f"somebody looks{cite('howard2021', 'waudbysmith2024')}.",
    ),
    (("Letters",), f"Levels that share a letter do not differ significantly{cite('piepho2004')}."),
    (
        ("Bradley–Terry",),
        f"Strengths are those of the Bradley–Terry model{cite('bradley1952')}, with ties after"
        f" Davidson{cite('davidson1970')}.",
    ),
    (("Wilson",), f"Intervals marked “Wilson” are Wilson’s score intervals{cite('wilson1927')}."),
    (
        ("Tukey",),
        f"Pairs of cells are compared with Tukey’s HSD{cite('tukey1949')}, as the paper of the instrument does.",
    ),
    (("d′",), f"Sensitivity is d′ of signal detection theory{cite('green1966')}."),
    (("mixed model",), f"Mixed models have crossed random effects of items and workers{cite('baayen2008')}."),
    (("distinct-n", "Distinct-n"), f"Distinct-n is the share of different n-grams{cite('li2016')}."),
    (("OCA",), f"OCA is the best accuracy of a single threshold{cite('tevet2021')}."),
)
AGREEMENT: Sequence[tuple[str, str, str]] = (
    ("Fleiss’ κ", "Fleiss’ κ", cite("fleiss1971")),
    ("Cohen’s κ", "Cohen’s κ", cite("cohen1960")),
    ("ICC(", "intraclass correlations", cite("shrout1979")),
    ("Split-half", "split-half reliability with the Spearman–Brown correction", cite("spearman1910", "brown1910")),
)


def quality_paragraph(study: StudyDescription, numbers: Numbers) -> Paragraph:
    sentences = []
    writes = any(question.scale.level == "text" for question in study.questions)
    roles = numbers.value(*DATA, "items_of_other_roles") or {}
    without = {rule for rule, role in ROLE_OF_RULE.items() if role not in roles}
    without |= set() if writes else set(TEXT_RULES)
    rules = [
        rule.label.lower()
        for rule in RULES
        if study.quality_control.get(rule.name) is not None and rule.name not in without
    ]
    flags = numbers.value("sections", "workers", "flags") or []
    if study.imported_from:
        sentences.append(f"Answers were checked by {blank('how they were checked, and which were left out')}.")
    elif rules or flags:
        sentences.append(
            f"Every submission was checked by rules ({', '.join(rules or ['those of the software'])}). What they find "
            "is a flag for a person to look at, not an exclusion."
        )
    if flags:
        flagged = [
            f"{label_of(row['reason'])} ({numbers.count('sections', 'workers', 'flags', number, 'submissions')})"
            for number, row in enumerate(flags)
        ]
        sentences.append(f"Flagged submissions by rule: {', '.join(flagged)}.")
    loud = [
        words(what)
        for role, what in (("gold", "items with known answers"), ("attention", "attention checks"))
        if role in roles and study.quality_control.get(f"{role}_mode") == "loud"
    ]
    if loud:
        sentences.append(
            f"A wrong answer to {listed(loud)} brought the page back once with an explanation. Quality control counts "
            "the first answers."
        )
    exclusion = [words(text) for _, text in Exclusion.of(study.exclude).in_words()]
    if exclusion:
        sentences.append(f"Rules fixed before the launch exclude submissions: {'; '.join(exclusion)}.")
    left_out = [
        f"{numbers.counted(thing, 'left_out', name)} {why}"
        for name, (thing, why) in REASONS.items()
        if numbers.value("left_out", name)
    ]
    if left_out:
        sentences.append(f"Left out of all figures: {'; '.join(left_out)}.")
        if numbers.value("left_out", "excluded"):
            sentences.append(f"A person excluded them because {blank('your reasons')}.")
    elif study.imported_from:
        sentences.append("The analysis includes all answers of the export.")
    else:
        sentences.append("Nothing was left out.")
    if numbers.value("rejected"):
        refused = numbers.counted("submission", "rejected")
        sentences.append(f"Pay was refused for {refused} in the analysis ({blank('why')}).")
    return Paragraph("Quality control and exclusions", sentences)


def data_paragraph(study: StudyDescription, numbers: Numbers) -> Paragraph:
    if not numbers.value(*DATA, "submissions_used"):
        return Paragraph("Data", ["There are no answers in the analysis yet."])
    ratings = numbers.counted("rating", *DATA, "ratings")
    texts = numbers.value(*DATA, "texts")
    in_words = f" and {numbers.counted_as('answer in words', 'answers in words', *DATA, 'texts')}" if texts else ""
    submissions = numbers.counted("submission", *DATA, "submissions_used")
    sentences = [f"The analysis is of {ratings}{in_words} from {submissions}."]
    if study.stopping is not None:
        sentences.append(rule_sentence(study.stopping, closed=study.status == "closed"))
    per_item = (*DATA, "submissions_per_item")
    if numbers.value(*per_item):
        median = numbers.value(*per_item, "median")
        complete = (
            f"; {numbers.count(*DATA, 'items_complete')} of {numbers.counted('item', *DATA, 'items')} "
            f"{'has' if numbers.value(*DATA, 'items') == 1 else 'have'} all that we asked for"
        )
        sentences.append(
            f"An item has a median of {numbers.shown(f'{median:g}', *per_item, 'median')} submissions "
            f"(from {numbers.count(*per_item, 'least')} to {numbers.count(*per_item, 'most')})"
            f"{'' if study.imported_from else complete}."
        )
    return Paragraph("Data", sentences)


def rule_sentence(rule: StoppingRule, *, closed: bool) -> str:
    """By which rule the study could stop early, and which figures hold because of that."""
    alike = "" if rule.smallest is None else f", or its interval lay within ±{rule.smallest:g}"
    return (
        f"By a rule fixed before the launch, the study {'was' if closed else 'is'} to end as soon as every difference "
        f"by {quoted(rule.factor)} on {quoted(rule.criterion)} was settled: its p, which holds at all times, was below "
        f"0.05{alike}. We looked at {rule.first}% of the planned submissions for the first time, and after every "
        f"{rule.every}% again. For these differences we report intervals and p values that hold at all times."
    )


def agreement_paragraph(study: StudyDescription, numbers: Numbers) -> Paragraph | None:
    """Krippendorff's α of every question that has it; None where workers could not agree on anything."""
    if study.own_work:
        return Paragraph("Agreement", ["Workers answered about their own texts, so there is no agreement to measure."])
    defined, undefined = [], []
    method = ""
    for topic, answers in (numbers.value(*ANSWERS) or {}).items():
        coefficients = answers.get("agreement") if isinstance(answers, dict) else None
        for name, alpha in (coefficients or {}).items():
            if not name.startswith("Krippendorff’s α"):
                continue
            way = (*ANSWERS, topic, "agreement", name)
            if alpha["value"] is None:
                undefined.append(f"{quoted(topic)} ({words(alpha['note'])})")
                continue
            n = numbers.count(*way, "n")
            defined.append(f"{numbers.estimate(*way)} on {quoted(topic)} ({name.partition(', ')[2]}, n = {n})")
            method = method or words(alpha["method"])
    sentences = []
    if defined:
        how = f" Intervals are at 95% ({method})." if method else ""
        key = cite("krippendorff2004", "krippendorff2011")
        sentences.append(f"Krippendorff’s α{key} is {listed(defined)}, where n counts what was rated.{how}")
    if undefined:
        sentences.append(f"It is not defined for {listed(undefined)}.")
    text = json.dumps(numbers.value(*ANSWERS), ensure_ascii=False) if defined else ""
    others = [f"{name}{key}" for mark, name, key in AGREEMENT if mark in text]
    if others:
        sentences.append(f"The tables also report {listed(others)}.")
    return Paragraph("Agreement", sentences) if sentences else None


def analysis_paragraph(numbers: Numbers) -> Paragraph:
    text = json.dumps(numbers.value("sections"), ensure_ascii=False)
    sentences = [sentence for marks, sentence in METHODS if any(mark in text for mark in marks)]
    draws = numbers.count("draws")
    seed = numbers.count("seed")
    sentences.append(f"Bootstraps have {draws} resamples and the seed {seed}.")
    sentences.append(
        "All figures come from HITServer’s report on these data; README.md of the supplement has the commands."
    )
    return Paragraph("Analysis", sentences)


def ethics_paragraph(study: StudyDescription) -> Paragraph:
    consent = any(name == "Consent" for name, _ in study.texts)
    agreed = (
        "Before they started, workers read what the study is about and agreed to take part; the appendix has the text."
        if consent
        else f"The study showed no consent text ({blank('how workers agreed to take part')})."
    )
    shown = "Workers appear under pseudonyms, and could see what was recorded about them and ask for its deletion."
    if study.imported_from:
        agreed = f"Workers agreed to take part by {blank('how, and what they were told')}."
        shown = "Workers appear under pseudonyms."
    return Paragraph(
        "Ethics",
        [
            f"The study was approved by {blank('ethics committee and number, or why none was needed')}.",
            agreed,
            shown,
            f"A Human Evaluation Datasheet{cite('belz2024')} is in the appendix.",
        ],
    )
