"""The questions of the Human Evaluation Datasheet, version 3.0, by number, with short labels in our own words.

Source: Belz & Thomson 2024, “HEDS 3.0: The Human Evaluation Data Sheet Version 3.0” (arXiv:2412.07940), and its form at
https://nlp-heds.github.io, which has the questions word by word. Section 4 is answered once for each quality criterion.
"""

from __future__ import annotations

VERSION = "3.0"
FORM = "https://nlp-heds.github.io"

SECTIONS = {
    "1": "Main reference and supplementary resources",
    "2": "Evaluated systems",
    "3": "Sample of system outputs, evaluators, experimental design",
    "4": "Quality criteria: definition and operationalisation",
    "5": "Ethics",
}

QUESTIONS = {
    "1.1.1": "Where the main reference for the experiment can be found",
    "1.1.2": "Which experiment this sheet is about",
    "1.2": "Where the resources of the experiment can be found",
    "1.3.1.1": "Name of the person who completes this sheet",
    "1.3.1.2": "Affiliation of the person who completes this sheet",
    "1.3.1.3": "Email address of the person who completes this sheet",
    "1.3.2.1": "Name of the contact author",
    "1.3.2.2": "Affiliation of the contact author",
    "1.3.2.3": "Email address of the contact author",
    "2.1": "Type of input that the systems take",
    "2.2": "Type of output that the systems produce",
    "2.3": "Task that the systems perform",
    "2.4": "Languages of the input",
    "2.5": "Languages of the output",
    "3.1.1": "Number of outputs, or other items, evaluated for each system",
    "3.1.2": "How outputs or items were selected",
    "3.1.3.1": "Method of the power analysis that decided the sample size",
    "3.1.3.2": "Statistical power of the sample",
    "3.1.3.3": "Where the code of the power analysis can be found",
    "3.2.1": "Number of evaluators",
    "3.2.2.1": "Whether evaluators are domain experts",
    "3.2.2.2": "Whether evaluators were paid in any form",
    "3.2.2.3": "Whether the authors knew any of the evaluators before",
    "3.2.2.4": "Whether any of the authors are evaluators",
    "3.2.3": "How evaluators were recruited",
    "3.2.4": "Training and practice before the evaluation",
    "3.2.5": "Other characteristics of the evaluators",
    "3.3.1": "Whether the design was preregistered",
    "3.3.2": "Medium in which responses were collected",
    "3.3.3.1": "Types of quality assurance",
    "3.3.3.2": "Methods of each type of quality assurance",
    "3.3.4.1": "Where the form or interface can be seen",
    "3.3.4.2": "Types of information that evaluators see",
    "3.3.5": "How free evaluators are in when and how fast they work",
    "3.3.6": "Whether evaluators can ask questions or give feedback",
    "3.3.7": "Conditions in which evaluators work",
    "3.3.8": "How these conditions differ between evaluators",
    "4.1.1": "Type of quality: correctness, goodness or feature",
    "4.1.2": "Aspect of outputs: form, content or both",
    "4.1.3": "Outputs in their own right, or against the input or an external frame of reference",
    "4.2.1": "Objective or subjective assessment",
    "4.2.2": "Absolute or relative assessment",
    "4.2.3": "Intrinsic or extrinsic evaluation",
    "4.3.1.1": "Name of the criterion for evaluators",
    "4.3.1.2": "Standardised name of the criterion",
    "4.3.2": "Definition of the criterion for evaluators",
    "4.3.3": "Size of the scale or other rating instrument",
    "4.3.4": "Values of the scale or other rating instrument",
    "4.3.5": "How the rating instrument is presented",
    "4.3.6": "Task of the evaluators, if there is no rating instrument",
    "4.3.7": "Question, prompt or instruction, word by word",
    "4.3.8": "Form of response elicitation",
    "4.3.9": "How responses are aggregated to the scores reported",
    "4.3.10": "Methods for effect sizes and significance",
    "4.3.11.1": "Method of inter-annotator agreement",
    "4.3.11.2": "Inter-annotator agreement",
    "4.3.12.1": "Method of intra-annotator agreement",
    "4.3.12.2": "Intra-annotator agreement",
    "5.1": "Research ethics committee that approved the experiment",
    "5.2": "Personal data in what was evaluated or collected (GDPR, Art. 4)",
    "5.3": "Special category data in what was evaluated or collected (GDPR, Art. 9)",
    "5.4": "Impact assessments",
}
