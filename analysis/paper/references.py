"""The references of instruments and methods, as BibTeX. A paper's folder has those that its methods cite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a bibliography: its type and its fields as BibTeX wants them."""

    kind: str
    fields: dict[str, str]

    def bibtex(self, key: str) -> str:
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"@{self.kind}{{{key},\n{lines}}}\n"


def _article(author: str, title: str, journal: str, year: int, **more: str) -> Entry:
    return Entry("article", {"author": author, "title": title, "journal": journal, "year": str(year)} | more)


def _paper(author: str, title: str, booktitle: str, year: int, **more: str) -> Entry:
    return Entry("inproceedings", {"author": author, "title": title, "booktitle": booktitle, "year": str(year)} | more)


ENTRIES: dict[str, Entry] = {
    "baayen2008": _article(
        "Baayen, R. Harald and Davidson, Douglas J. and Bates, Douglas M.",
        "Mixed-effects modeling with crossed random effects for subjects and items",
        "Journal of Memory and Language",
        2008,
        volume="59",
        number="4",
        pages="390--412",
        doi="10.1016/j.jml.2007.12.005",
    ),
    "belz2024": Entry(
        "misc",
        {
            "author": "Belz, Anya and Thomson, Craig",
            "title": "{HEDS} 3.0: The Human Evaluation Data Sheet Version 3.0",
            "year": "2024",
            "eprint": "2412.07940",
            "archiveprefix": "arXiv",
        },
    ),
    "bradley1952": _article(
        "Bradley, Ralph Allan and Terry, Milton E.",
        "Rank analysis of incomplete block designs: {I}. The method of paired comparisons",
        "Biometrika",
        1952,
        volume="39",
        number="3/4",
        pages="324--345",
        doi="10.2307/2334029",
    ),
    "brown1910": _article(
        "Brown, William",
        "Some experimental results in the correlation of mental abilities",
        "British Journal of Psychology",
        1910,
        volume="3",
        number="3",
        pages="296--322",
    ),
    "cameron2011": _article(
        "Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.",
        "Robust inference with multiway clustering",
        "Journal of Business {\\&} Economic Statistics",
        2011,
        volume="29",
        number="2",
        pages="238--249",
        doi="10.1198/jbes.2010.07136",
    ),
    "clark2021": Entry(
        "phdthesis",
        {
            "author": "Clark, Elizabeth",
            "title": "Text Generation and Evaluation for Human-Machine Collaborative Writing",
            "school": "University of Washington",
            "year": "2021",
        },
    ),
    "cohen1960": _article(
        "Cohen, Jacob",
        "A coefficient of agreement for nominal scales",
        "Educational and Psychological Measurement",
        1960,
        volume="20",
        number="1",
        pages="37--46",
        doi="10.1177/001316446002000104",
    ),
    "cohen1988": Entry(
        "book",
        {
            "author": "Cohen, Jacob",
            "title": "Statistical Power Analysis for the Behavioral Sciences",
            "edition": "2nd",
            "publisher": "Lawrence Erlbaum Associates",
            "address": "Hillsdale, NJ",
            "year": "1988",
        },
    ),
    "davidson1970": _article(
        "Davidson, Roger R.",
        "On extending the {Bradley}--{Terry} model to accommodate ties in paired comparison experiments",
        "Journal of the American Statistical Association",
        1970,
        volume="65",
        number="329",
        pages="317--328",
        doi="10.1080/01621459.1970.10481082",
    ),
    "efron1987": _article(
        "Efron, Bradley",
        "Better bootstrap confidence intervals",
        "Journal of the American Statistical Association",
        1987,
        volume="82",
        number="397",
        pages="171--185",
        doi="10.1080/01621459.1987.10478410",
    ),
    "fleiss1971": _article(
        "Fleiss, Joseph L.",
        "Measuring nominal scale agreement among many raters",
        "Psychological Bulletin",
        1971,
        volume="76",
        number="5",
        pages="378--382",
        doi="10.1037/h0031619",
    ),
    "giulianelli2023": _paper(
        "Giulianelli, Mario and Baan, Joris and Aziz, Wilker and Fern{\\'a}ndez, Raquel and Plank, Barbara",
        "What Comes Next? {Evaluating} Uncertainty in Neural Text Generators Against Human Production Variability",
        "Proceedings of the 2023 Conference on Empirical Methods in Natural Language Processing",
        2023,
        pages="14349--14371",
        address="Singapore",
        publisher="Association for Computational Linguistics",
    ),
    "green1966": Entry(
        "book",
        {
            "author": "Green, David M. and Swets, John A.",
            "title": "Signal Detection Theory and Psychophysics",
            "publisher": "Wiley",
            "address": "New York",
            "year": "1966",
        },
    ),
    "holm1979": _article(
        "Holm, Sture",
        "A simple sequentially rejective multiple test procedure",
        "Scandinavian Journal of Statistics",
        1979,
        volume="6",
        number="2",
        pages="65--70",
    ),
    "howard2021": _article(
        "Howard, Steven R. and Ramdas, Aaditya and McAuliffe, Jon and Sekhon, Jasjeet",
        "Time-uniform, nonparametric, nonasymptotic confidence sequences",
        "The Annals of Statistics",
        2021,
        volume="49",
        number="2",
        pages="1055--1080",
    ),
    "waudbysmith2024": _article(
        "Waudby-Smith, Ian and Arbour, David and Sinha, Ritwik and Kennedy, Edward H. and Ramdas, Aaditya",
        "Time-uniform central limit theory and asymptotic confidence sequences",
        "The Annals of Statistics",
        2024,
        volume="52",
        number="6",
        pages="2613--2640",
    ),
    "krippendorff2004": Entry(
        "book",
        {
            "author": "Krippendorff, Klaus",
            "title": "Content Analysis: An Introduction to Its Methodology",
            "edition": "2nd",
            "publisher": "Sage",
            "address": "Thousand Oaks, CA",
            "year": "2004",
        },
    ),
    "krippendorff2011": Entry(
        "techreport",
        {
            "author": "Krippendorff, Klaus",
            "title": "Computing {Krippendorff}'s Alpha-Reliability",
            "institution": "Annenberg School for Communication, University of Pennsylvania",
            "year": "2011",
            "url": "https://repository.upenn.edu/asc_papers/43",
        },
    ),
    "li2016": _paper(
        "Li, Jiwei and Galley, Michel and Brockett, Chris and Gao, Jianfeng and Dolan, Bill",
        "A Diversity-Promoting Objective Function for Neural Conversation Models",
        "Proceedings of the 2016 Conference of the North American Chapter of the Association for Computational "
        "Linguistics: Human Language Technologies",
        2016,
        pages="110--119",
        address="San Diego, California",
        publisher="Association for Computational Linguistics",
        doi="10.18653/v1/N16-1014",
    ),
    "piepho2004": _article(
        "Piepho, Hans-Peter",
        "An algorithm for a letter-based representation of all-pairwise comparisons",
        "Journal of Computational and Graphical Statistics",
        2004,
        volume="13",
        number="2",
        pages="456--466",
        doi="10.1198/1061860043515",
    ),
    "schuirmann1987": _article(
        "Schuirmann, Donald J.",
        "A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of "
        "average bioavailability",
        "Journal of Pharmacokinetics and Biopharmaceutics",
        1987,
        volume="15",
        number="6",
        pages="657--680",
        doi="10.1007/BF01068419",
    ),
    "shrout1979": _article(
        "Shrout, Patrick E. and Fleiss, Joseph L.",
        "Intraclass correlations: Uses in assessing rater reliability",
        "Psychological Bulletin",
        1979,
        volume="86",
        number="2",
        pages="420--428",
        doi="10.1037/0033-2909.86.2.420",
    ),
    "spearman1910": _article(
        "Spearman, Charles",
        "Correlation calculated from faulty data",
        "British Journal of Psychology",
        1910,
        volume="3",
        number="3",
        pages="271--295",
    ),
    "tevet2021": _paper(
        "Tevet, Guy and Berant, Jonathan",
        "Evaluating the Evaluation of Diversity in Natural Language Generation",
        "Proceedings of the 16th Conference of the European Chapter of the Association for Computational Linguistics: "
        "Main Volume",
        2021,
        pages="326--346",
        address="Online",
        publisher="Association for Computational Linguistics",
        doi="10.18653/v1/2021.eacl-main.25",
    ),
    "tukey1949": _article(
        "Tukey, John W.",
        "Comparing individual means in the analysis of variance",
        "Biometrics",
        1949,
        volume="5",
        number="2",
        pages="99--114",
        doi="10.2307/3001913",
    ),
    "wilson1927": _article(
        "Wilson, Edwin B.",
        "Probable inference, the law of succession, and statistical inference",
        "Journal of the American Statistical Association",
        1927,
        volume="22",
        number="158",
        pages="209--212",
        doi="10.1080/01621459.1927.10502953",
    ),
    "zhang2021": _paper(
        "Zhang, Hugh and Duckworth, Daniel and Ippolito, Daphne and Neelakantan, Arvind",
        "Trading Off Diversity and Quality in Natural Language Generation",
        "Proceedings of the Workshop on Human Evaluation of {NLP} Systems (HumEval)",
        2021,
        pages="25--33",
        address="Online",
        publisher="Association for Computational Linguistics",
    ),
}
#: The start of what a task type declares as its source, and the key of the reference.
SOURCES = {
    "Clark 2021": "clark2021",
    "Giulianelli et al. 2023": "giulianelli2023",
    "Tevet & Berant 2021": "tevet2021",
    "Zhang et al. 2020": "zhang2021",
}


def key_of_source(source: str) -> str:
    """The key of an instrument's source; empty if it is not in the list."""
    return next((key for start, key in SOURCES.items() if source.startswith(start)), "")


def bibliography(keys: Iterable[str]) -> str:
    """The entries of these keys, by key."""
    return "\n".join(ENTRIES[key].bibtex(key) for key in sorted(set(keys)))
