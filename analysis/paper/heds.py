"""The Human Evaluation Datasheet of a study, prefilled with what the study knows; everything else is a marked blank.

Where the form has options, an answer begins with the number of one.
"""

from __future__ import annotations

import json
from typing import Any

from analysis.description import QuestionDescription, StudyDescription
from analysis.kinds import kind_in_words
from analysis.paper.data_methods import METHODS, quality_paragraph
from analysis.paper.heds_questions import FORM, QUESTIONS, SECTIONS, VERSION
from analysis.paper.participants import participants_paragraph, pay_paragraph, recruitment_sentences
from analysis.paper.prose import Numbers, as_plain, blank, listed, words
from analysis.quality_control.exclusion import Exclusion
from analysis.report.source import NUMERIC
from common.words import counted

DATA = ("sections", "data")
NOT_KNOWN = blank("to fill in")
#: Answers by the number of the question.
Answers = dict[str, str]


def datasheet(study: StudyDescription, report: dict[str, Any]) -> tuple[str, str]:
    """The sheet as Markdown and as JSON."""
    numbers = Numbers(report)
    general = dict.fromkeys((key for key in QUESTIONS if not key.startswith("4")), NOT_KNOWN)
    general |= experiment_answers(study, numbers) | evaluator_answers(study, numbers) | design_answers(study, numbers)
    # Answers in words are reasons and comments, unless there is nothing else.
    questions = [question for question in study.questions if question.scale.level != "text"] or study.questions
    criteria = {question.topic: criterion_answers(study, question, numbers) for question in questions}
    sheet = {
        "datasheet": "Human Evaluation Datasheet (HEDS)",
        "version": VERSION,
        "form": FORM,
        "study": study.slug,
        "answers": [_record(key, answer) for key, answer in general.items()],
        "criteria": [
            {"criterion": topic, "answers": [_record(key, answer) for key, answer in answers.items()]}
            for topic, answers in criteria.items()
        ],
    }
    return _as_markdown(study, general, criteria), json.dumps(sheet, ensure_ascii=False, indent=1) + "\n"


def _record(key: str, answer: str) -> dict[str, object]:
    return {"number": key, "label": QUESTIONS[key], "answer": as_plain(answer), "complete": blank("")[0] not in answer}


def _as_markdown(study: StudyDescription, general: Answers, criteria: dict[str, Answers]) -> str:
    lines = [
        f"# Human Evaluation Datasheet (HEDS {VERSION}): {words(study.title)}\n",
        f"Numbers are those of HEDS {VERSION} (Belz & Thomson 2024, arXiv:2412.07940). The labels are short forms; the "
        f"form at <{FORM}> has the questions word by word, with their options. Answers come from the study’s data; "
        "**[… …]** marks what the study does not know.\n",
    ]
    for number, title in SECTIONS.items():
        lines.append(f"## {number}. {title}\n")
        if number == "4":
            for topic, answers in criteria.items():
                lines += [f"### Criterion: {words(topic)}\n", *_rows(answers)]
            if not criteria:
                lines.append("The study has no questions.\n")
        else:
            lines += _rows({key: answer for key, answer in general.items() if key.startswith(f"{number}.")})
    return "\n".join(lines)


def _rows(answers: Answers) -> list[str]:
    return [f"**{key}** {QUESTIONS[key]}  \n{as_plain(answer)}\n" for key, answer in answers.items()]


def experiment_answers(study: StudyDescription, numbers: Numbers) -> Answers:
    findings = numbers.value("sections", "findings") or {}
    per_level = [
        f"{row['level']['name']}: {counted(row['level']['items'], 'item')}"
        for name, rows in findings.items()
        if name == "levels by system"
        for row in rows
        if row["criterion"] == rows[0]["criterion"]
    ]
    items = numbers.counted("item", *DATA, "items")
    task = "" if study.imported_from else f"task type {words(study.task_title)}; "
    return {
        "1.1.2": f"“{words(study.title)}” ({task}short name of the data: {study.slug}) "
        + blank("section or table of the paper"),
        "1.2": f"The data as a bundle, the pages and the commands: {blank('address')}",
        "3.1.1": "; ".join(per_level) or f"{items} in all ({blank('how many of each system')})",
    }


def evaluator_answers(study: StudyDescription, numbers: Numbers) -> Answers:
    people = numbers.value(*DATA, "workers") - numbers.value(*DATA, "workers_simulated")
    simulated = numbers.value(*DATA, "workers_simulated")
    note = f" (and {counted(simulated, 'simulated worker')}, which are no evaluators)" if simulated else ""
    if study.imported_from:
        return {"3.2.1": f"{people}{note}", "3.2.3": " ".join(recruitment_sentences(study))}
    paid = bool(study.reward) or any(arm.reward for arm in study.arms)
    pay = " ".join(pay_paragraph(study, numbers).sentences)
    practice = (numbers.value(*DATA, "items_of_other_roles") or {}).get("practice", 0)
    training = ["Instructions on the start page; they can be opened again on every page."]
    if practice:
        training.append(f"{counted(practice, 'practice item')} before the main items.")
    training += [f"Exam: {words(value)}." for name, value in study.conditions if name == "exam"]
    return {
        "3.2.1": f"{people}{note}",
        "3.2.2.2": f"1. Paid (monetary compensation). {pay}" if paid else f"3. Not paid. {pay}",
        "3.2.2.4": f"Members of the team did the work ({blank('whether authors are among them')})"
        if study.for_members
        else NOT_KNOWN,
        "3.2.3": " ".join(recruitment_sentences(study)),
        "3.2.4": " ".join(training),
        "3.2.5": " ".join(participants_paragraph(study, numbers).sentences[-1:]),
    }


def design_answers(study: StudyDescription, numbers: Numbers) -> Answers:
    if study.imported_from:
        form = f"Web pages made with {words(study.imported_from)} ({blank('its version')})"
        return {"3.3.2": form, "5.2": f"Workers appear under pseudonyms ({blank('whether texts name people')})"}
    ways = listed([way_in.title for way_in in study.recruitment]) if study.recruitment else ""
    rules = Exclusion.of(study.exclude)
    kinds = ["2. Automatic quality checking"] if study.quality_control else []
    if numbers.value("left_out", "excluded"):
        kinds.append("3. Manual quality checking")
    if rules.gold_share_below is not None:
        kinds.append("4. Evaluators are excluded if they fail quality checks")
    if rules.flags or rules.different_flags:
        kinds.append("5. Some evaluations are excluded because of failed quality checks")
    has_box = any(name == "comments" for name, _ in study.conditions)
    limit = counted(study.time_limit_minutes, "minute")
    return {
        "3.3.2": f"Web pages made with HITServer{f'; offered on: {ways}' if ways else ''}",
        "3.3.3.1": ("; ".join(kinds) or "7. None of the above") + f" ({blank('1. if native speakers were required')})",
        "3.3.3.2": " ".join(quality_paragraph(study, numbers).sentences),
        "3.3.4.1": f"The folder pages/ of the data: {blank('address')}",
        "3.3.4.2": "The item, the question with its answers, and the instructions, which can be opened.",
        "3.3.5": f"A task had to be sent within {limit} of accepting it. Workers chose when to start, and could pause.",
        "3.3.6": f"3. Evaluators could leave comments after the evaluation ({blank('1 and 2: whether they could ask')})"
        if has_box
        else NOT_KNOWN,
        "3.3.7": f"1. At a place of their own choosing ({blank('unless they sat in your lab')})",
        "3.3.8": "Place, time of day, device and browser differed.",
        "5.2": f"Workers appear under pseudonyms ({blank('whether texts name people')})",
    }


def criterion_answers(study: StudyDescription, question: QuestionDescription, numbers: Numbers) -> Answers:
    """The answers of section 4 for one question."""
    answers = dict.fromkeys((key for key in QUESTIONS if key.startswith("4")), NOT_KNOWN)
    rated = question.scale.level != "text"
    relative = question.scale.level == "pairwise" or kind_in_words(question.kind).relative
    relative |= any(score.topic == question.topic and score.middle is not None for score in study.scores)
    answers |= {
        "4.3.1.1": blank(f"its name on the pages; the data call it “{words(question.topic)}”"),
        "4.3.2": f"{f'“{words(question.help)}” ' if question.help else ''}{blank('or “no definition given”')}",
        "4.3.7": blank("the wording that people saw") if study.imported_from else f"“{words(question.label)}”",
        "4.3.12.1": "IntraAA not assessed: nobody answered about the same item twice",
        "4.3.12.2": "IntraAA not assessed",
    }
    if rated:
        answers["4.2.1"] = "2. Subjective"
    if relative:
        answers |= {"4.2.2": "2. Relative", "4.3.8": "3. Relative quality estimation (including ranking)"}
    answers |= kind_in_words(question.kind).datasheet(question)
    if rated:
        answers["4.3.9"] = (
            "Means over items of the means over workers; every item counts the same"
            if question.scale.level in NUMERIC
            else "Shares of the answers"
        )
        text = json.dumps(numbers.value("sections"), ensure_ascii=False)
        used = [as_plain(sentence) for marks, sentence in METHODS if any(mark in text for mark in marks)]
        answers["4.3.10"] = " ".join(used) or "None"
    return answers | agreement_answers(study, question, numbers)


def agreement_answers(study: StudyDescription, question: QuestionDescription, numbers: Numbers) -> Answers:
    way = ("sections", "answers", question.topic, "agreement")
    coefficients = numbers.value(*way) or {}
    if study.own_work or not coefficients:
        return {"4.3.11.1": "InterAA not assessed", "4.3.11.2": "InterAA not assessed"}
    defined = {
        name: numbers.estimate(*way, name) for name, estimate in coefficients.items() if estimate["value"] is not None
    }
    scores = "; ".join(f"{name}: {shown}" for name, shown in defined.items())
    return {"4.3.11.1": "; ".join(coefficients), "4.3.11.2": scores or "Not defined on these data"}
