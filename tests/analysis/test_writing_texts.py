"""Texts, own ratings, two groups and waits: by hand, or as R and textbooks have them."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from analysis.tables import InputError
from analysis.tagging import NoTagger, Tagged, load_tagger, tokens_of
from analysis.writing import (
    concreteness,
    distinct_shares,
    mean_sentence_length,
    own_against_others,
    read_concreteness,
    two_groups,
    waits,
)
from analysis.writing.story_texts import sentences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two words! Is it three?", ["One.", "Two words!", "Is it three?"]),
        ("“Come in.” She smiled.", ["“Come in.", "She smiled."]),
        ("No end\nnext line", ["No end", "next line"]),
        ("3.5 metres", ["3.5 metres"]),
        (" … !", []),
    ],
)
def test_sentences_end_where_people_end_them(text: str, found: list[str]) -> None:
    assert [each.strip("”").strip() for each in sentences(text)] == found


def test_sentence_length_counts_words_only() -> None:
    # 1 + 2 + 3 words in 3 sentences.
    assert mean_sentence_length("One. Two words! Is it three?") == 2
    assert math.isnan(mean_sentence_length("?!"))


def test_distinct_shares_by_hand() -> None:
    # Words: a b a / b a. Unigrams 2 of 5; bigrams ab ba | ba: 2 of 3; trigrams aba: 1 of 1.
    assert distinct_shares(["A b, a!", "b a"]) == [pytest.approx(2 / 5), pytest.approx(2 / 3), 1.0]
    one, two, three = distinct_shares(["word", ""])
    assert one == 1 and math.isnan(two) and math.isnan(three)


def test_tokens_keep_inner_apostrophes_and_hyphens() -> None:
    assert tokens_of("Don’t go, well-known 'x'…") == ["Don’t", "go", ",", "well-known", "'", "x", "'", "…"]


def test_hanta_finds_nouns_and_verbs() -> None:
    tagged = load_tagger()("The old dogs barked and Grace would have fallen.")
    assert [(each.lemma, each.tag) for each in tagged[:4]] == [
        ("the", "DET"),
        ("old", "ADJ"),
        ("dog", "NOUN"),
        ("bark", "VERB"),
    ]
    assert [each.tag for each in tagged[5:]] == ["PROPN", "AUX", "AUX", "VERB", "PUNCT"]
    assert load_tagger()("  ") == []


def test_spacy_is_used_if_one_of_its_models_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in with spaCy's interface, which is not among the requirements."""
    token = SimpleNamespace(text="Dogs", lemma_="Dog", pos_="NOUN", is_space=False)
    space = SimpleNamespace(text=" ", lemma_=" ", pos_="SPACE", is_space=True)
    models = {"en_small": lambda text: [token, space]}

    def load(name: str) -> object:
        if name not in models:
            raise OSError("[E050] no model")
        return models[name]

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    assert load_tagger("en_small")("Dogs ") == [Tagged("Dogs", "dog", "NOUN")]
    with pytest.raises(NoTagger, match="no model “en_big”"):
        load_tagger("en_big")


@pytest.mark.parametrize(
    ("module", "name", "hint"), [("HanTa.HanoverTagger", "hanta", "HanTa"), ("spacy", "m", "spaCy")]
)
def test_a_missing_tagger_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, hint: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NoTagger, match=f"{hint} is not installed: pip install"):
        load_tagger(name)


def test_concreteness_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text("Word,Conc.M,Conc.SD\ndog,4.8,0.5\nIdea,1.6,0.9\nbark,4.2,1.0\ndog,1.0,0\n")
    ratings = read_concreteness(file)
    assert ratings == {"dog": 4.8, "idea": 1.6, "bark": 4.2}

    nouns, verbs, covered = concreteness("The dogs barked. The idea slept.", ratings, load_tagger())

    # Nouns dog, idea; verbs bark, sleep (not rated): three of four.
    assert (nouns, verbs, covered) == pytest.approx((3.2, 4.2, 0.75))
    assert all(map(math.isnan, concreteness("Slowly!", ratings, load_tagger())))


#: The header, tabs and columns of the file that Brysbaert, Warriner & Kuperman 2014 publish beside their paper (and at
#: crr.ugent.be/archives/1330): “Bigram” is 1 for expressions of two words, “SUBTLEX” a frequency, “Dom_Pos” the word
#: class. The rows are made up.
PUBLISHED = """Word	Bigram	Conc.M	Conc.SD	Unknown	Total	Percent_known	SUBTLEX	Dom_Pos
dog	0	4.9	0.31	0	28	1	9868	Noun
Idea	0	1.6	0.89	1	29	0.97	7046	Noun
bark	0	4.2	1.01	0	27	1	293	Verb
sleep	0	4.4	0.75	0	30	1	11527	Verb
mouse	0	4.8	0.42	0	30	1	934	Noun
leave	0	3.1	1.2	0	28	1	21543	Verb
left	0	3.5	1.3	0	28	1	15800	Adjective
can't	0	2	1.1	0	26	1	0	0
ice cream	1	5	0	0	27	1	0	0
zoom in	1	3.2	1.32	0	29	1	0	0
nan	0	4.1	1.2	4	29	0.86	55	Noun
NA	0	1.9	0.9	2	26	0.92	1	0
"""


@pytest.mark.parametrize(("suffix", "mark"), [(".txt", ""), (".tsv", "\ufeff"), (".csv", "")])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_published_file_is_read_as_it_is(tmp_path: Path, suffix: str, mark: str, line_end: str) -> None:
    file = tmp_path / f"ratings{suffix}"
    file.write_text(mark + PUBLISHED, encoding="utf-8", newline=line_end)

    ratings = read_concreteness(file)

    assert len(ratings) == 12
    assert (ratings["dog"], ratings["idea"], ratings["ice cream"], ratings["can't"]) == (4.9, 1.6, 5.0, 2.0)
    assert (ratings["nan"], ratings["na"]) == (4.1, 1.9)  # words, not missing values

    nouns, verbs, covered = concreteness(
        "The mice slept. Dogs barked and left their ice cream.", ratings, load_tagger()
    )

    # Dictionary forms. Nouns: mouse 4.8, dog 4.9; ice and cream alone have no rating. Verbs: sleep 4.4, bark 4.2, and
    # leave 3.1 (not “left”, which has a rating, too). 5 of 7 are rated.
    assert (nouns, verbs, covered) == pytest.approx(((4.8 + 4.9) / 2, (4.4 + 4.2 + 3.1) / 3, 5 / 7))


def test_a_form_counts_if_its_dictionary_form_has_no_rating() -> None:
    def tagger(text: str) -> list[Tagged]:
        return [Tagged("Mice", "mouse", "NOUN"), Tagged("Scissors", "scissor", "NOUN"), Tagged("Xs", "x", "NOUN")]

    nouns, _, covered = concreteness("", {"mouse": 4.0, "mice": 1.0, "scissors": 5.0}, tagger)
    assert (nouns, covered) == pytest.approx((4.5, 2 / 3))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"Word;Conc.M\ndog;4,9\n", '"4,9" is not a number; write it with a point, not a comma, such as 4.85'),
        (b"PK\x03\x04\x14\x00\x08\xff", "this is a spreadsheet’s own format, such as Excel’s; save it as CSV (UTF-8)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "this is a spreadsheet’s own format"),
        (PUBLISHED.encode("utf-16"), "is not UTF-8; save the file as UTF-8"),
        (PUBLISHED.replace("\t", ",").replace("4.9", "4,9").encode(), "row 1: has 10 cells, the header has 9"),
    ],
)
def test_files_in_other_formats_say_what_to_do(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "ratings.csv"
    file.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_concreteness(file)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [("word,score\na,1\n", 'column "rating"'), ("word,rating\na,high\n", 'row 1, column "rating": "high" is not')],
)
def test_bad_ratings_are_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "ratings.csv"
    file.write_text(content)
    with pytest.raises(InputError) as error:
        read_concreteness(file)
    assert message in str(error.value)


# --- own ratings ---


def test_own_ratings_against_others_by_hand() -> None:
    # Deviations (−1, 0, 1, 0) and (−1, −1, 1, 1): r = 2 / √(2 · 4). Two workers rate every text, one point apart.
    others = [value + off for value in (2.0, 2.0, 4.0, 4.0) for off in (-1.0, 1.0)]
    found = own_against_others([3.0, 4.0, 5.0, 4.0], list("abcd"), np.repeat(np.arange(4), 2), others, ["x", "y"] * 4)

    assert found.value == pytest.approx(2 / math.sqrt(8))
    assert (found.n, found.note) == (8, "an interval needs at least 5 workers, and there are only 2")


@pytest.mark.parametrize(
    ("own", "writers", "reason"),
    [([1.0, 2.0], "ab", "three texts"), ([2.0, 2.0, 2.0], "abc", "all labels are the same")],
)
def test_a_missing_correlation_has_a_reason(own: list[float], writers: str, reason: str) -> None:
    texts = np.arange(len(own))
    found = own_against_others(own, list(writers), texts, [1.0, 2.0, 3.0][: len(own)], ["x"] * len(own))
    assert math.isnan(found.value) and reason in found.note


def test_a_single_writer_has_no_interval() -> None:
    texts = np.repeat(np.arange(3), 5)
    others = [1.0, 2.0, 1.0, 1.0, 2.0, 3.0, 3.0, 2.0, 3.0, 4.0, 5.0, 4.0, 4.0, 3.0, 5.0]
    found = own_against_others([1.0, 2.0, 4.0], ["a"] * 3, texts, others, list("vwxyz") * 3)
    assert not math.isnan(found.value) and math.isnan(found.low) and "writers, and there is only 1" in found.note


# --- two groups ---

# Student 1908, the sleep data (R's `sleep`): t(18) = −1.8608, p = .07919; Welch p = .07939, as R's t.test prints them.
DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_two_groups_are_rs_t_tests() -> None:
    found = two_groups(DRUG_1, [*DRUG_2, math.nan])

    assert found.t == pytest.approx(-1.8608, abs=5e-5)
    assert (found.df, found.p) == pytest.approx((18, 0.07919), abs=5e-6)
    assert found.p_welch == pytest.approx(0.07939, abs=5e-6)
    assert (found.mean_first, found.mean_second) == pytest.approx((0.75, 2.33))
    # R: 95 percent confidence interval −3.363874 0.203874 (equal variances).
    assert (found.difference.low, found.difference.high) == pytest.approx((-3.363874, 0.203874), abs=1e-6)
    assert found.shift.u == 25.5  # R: wilcox.test gives W = 25.5


@pytest.mark.parametrize(("first", "reason"), [([1.0], "two people"), ([2.0, 2.0], "equal")])
def test_groups_without_a_t_test_have_a_reason(first: list[float], reason: str) -> None:
    found = two_groups(first, [3.0, 3.0])
    assert math.isnan(found.t) and reason in found.difference.note
    with pytest.raises(ValueError, match="need a value"):
        two_groups([], [1.0])


# --- waits ---


def test_waits_by_hand() -> None:
    found = waits(["live", "live", "pool", "none"], [1.0, 3.0, 5.0, math.nan], [2.0, 4.0, 6.0, 8.0])

    assert found.shares == {"live": 0.5, "second_try": 0.0, "pool": 0.25, "none": 0.25}
    # Linear percentiles: of 1, 3, 5 at place 1 and 1.9; of 2, 4, 6, 8 at place 1.5 and 2.85.
    assert (found.latency_50, found.latency_95) == pytest.approx((3.0, 4.8))
    assert (found.waited_50, found.waited_95) == pytest.approx((5.0, 7.7))
    empty = waits([], [], [])
    assert empty.n == 0 and math.isnan(empty.latency_50) and math.isnan(empty.shares["live"])


def test_unknown_sources_are_refused() -> None:
    with pytest.raises(ValueError, match="“late” is not a source"):
        waits(["late"], [1.0], [1.0])
    with pytest.raises(ValueError, match="same length"):
        waits(["live"], np.array([]), [1.0])
