"""Questions about participants that many studies ask: blocks that a questionnaire names instead of writing them out.

What they ask is what reports of human evaluations are expected to say about the people who rated (age, gender, native
languages, country, education, how well they know the language, experience with texts). The wording is ours, and is in
the study's language. Every question can be declined. The names of questions and answers in the data are always English.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.languages import gettext as _
from annotation.languages import marked

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """``title`` is for researchers, ``records`` makes the questions in the language of this moment."""

    name: str
    title: str
    records: Callable[[], list[Record]]


#: The last option of every question about the participant.
NO_ANSWER = marked("Prefer not to say")
#: Native languages by name in the data: those with the most speakers, and those of this program's pages.
LANGUAGES = {
    "english": marked("English"),
    "arabic": marked("Arabic"),
    "bengali": marked("Bengali"),
    "chinese": marked("Chinese"),
    "czech": marked("Czech"),
    "dutch": marked("Dutch"),
    "french": marked("French"),
    "german": marked("German"),
    "greek": marked("Greek"),
    "hebrew": marked("Hebrew"),
    "hindi": marked("Hindi"),
    "indonesian": marked("Indonesian or Malay"),
    "italian": marked("Italian"),
    "japanese": marked("Japanese"),
    "korean": marked("Korean"),
    "polish": marked("Polish"),
    "portuguese": marked("Portuguese"),
    "russian": marked("Russian"),
    "spanish": marked("Spanish"),
    "swahili": marked("Swahili"),
    "turkish": marked("Turkish"),
    "ukrainian": marked("Ukrainian"),
    "urdu": marked("Urdu"),
    "vietnamese": marked("Vietnamese"),
    "other": marked("Another language"),
}
AGES = (
    *(marked("Under 18"), marked("18 to 24"), marked("25 to 34"), marked("35 to 44"), marked("45 to 54")),
    *(marked("55 to 64"), marked("65 or older")),
)
GENDERS = (marked("Woman"), marked("Man"), marked("Non-binary"), marked("I describe myself in another way"))
EDUCATION = (
    marked("No completed school"),
    marked("Primary or lower secondary school"),
    marked("Upper secondary school"),
    marked("Vocational training"),
    marked("Bachelor's degree"),
    marked("Master's degree"),
    marked("Doctorate"),
)
#: From the lowest to the highest; in the spirit of the levels A to C of the Common European Framework.
PROFICIENCY = (
    marked("None or a few words"),
    marked("Basic: simple, everyday topics"),
    marked("Independent: most texts and conversations"),
    marked("Fluent: demanding texts, nearly without effort"),
    marked("Native or like a native speaker"),
)
EXPERIENCE = (
    marked("None"),
    marked("A little, such as proofreading for friends or school work"),
    marked("Some: I have often edited or rated texts"),
    marked("Professional: writing, editing, translating or teaching is or was my job"),
)
READING = (marked("Rarely"), marked("A few times a month"), marked("A few times a week"), marked("Every day"))
AGREEMENT = (
    *(marked("Strongly disagree"), marked("Disagree"), marked("Neither agree nor disagree"), marked("Agree")),
    marked("Strongly agree"),
)


def _choice(topic: str, question: str, options: Sequence[str], *, declines: bool = True, help: str = "") -> Record:
    """One of the options. They are numbered from 1 in the data; 0 is “Prefer not to say”."""
    rows = [{"value": f"{number}", "label": _(option)} for number, option in enumerate(options, start=1)]
    rows += [{"value": "0", "label": _(NO_ANSWER)}] if declines else []
    return {"kind": "choice", "topic": topic, "question": question, "help": help, "options": rows}


def _native_language() -> Record:
    options = [{"key": key, "label": _(name)} for key, name in LANGUAGES.items()]
    return {
        "kind": "choices",
        "topic": "native_language",
        "question": _("Which languages have you spoken since early childhood?"),
        "help": _("Choose all that apply."),
        "options": [*options, {"key": "no_answer", "label": _(NO_ANSWER)}],
    }


def _proficiency() -> Record:
    return _choice("english_proficiency", _("How well do you read English?"), PROFICIENCY)


def _experience() -> Record:
    return _choice("text_experience", _("How much experience do you have with judging or improving texts?"), EXPERIENCE)


def _demographics() -> list[Record]:
    return [
        _choice("age", _("How old are you?"), AGES),
        _choice("gender", _("What is your gender?"), GENDERS),
        _native_language(),
        {
            "kind": "text",
            "topic": "country",
            "question": _("In which country do you live?"),
            "help": _("Leave this empty if you prefer not to say."),
            "required": False,
            "rows": 1,
            "max_chars": 60,
        },
        _choice("education", _("What is the highest level of education that you have completed?"), EDUCATION),
        _proficiency(),
        _experience(),
    ]


BLOCKS = {
    block.name: block
    for block in (
        Block(
            "demographics", "Age, gender, languages, country, education, English, experience with texts", _demographics
        ),
        Block("language", "Native languages and English", lambda: [_native_language(), _proficiency()]),
        Block(
            "expertise",
            "Experience with texts, reading, use of writing programs",
            lambda: [
                _experience(),
                _choice(
                    "reading", _("How often do you read longer texts, such as articles, stories or books?"), READING
                ),
                _choice("ai_texts", _("How often do you use programs that write texts, such as chatbots?"), READING),
            ],
        ),
        Block(
            "attention",
            "One question that asks for a certain answer",
            lambda: [
                _choice(
                    "attention_check",
                    _("To show that you read each question, please choose “Disagree” here."),
                    AGREEMENT,
                    declines=False,
                )
            ],
        ),
    )
}
