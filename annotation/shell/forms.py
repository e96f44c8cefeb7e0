"""The console's forms. They show next to the field what the services would refuse anyway."""

from __future__ import annotations

from django import forms

from annotation.table_files import SUFFIXES

CHOOSE = "Choose a file: .csv, .tsv, .xlsx, .json, .jsonl, .parquet or .zip."


class UploadForm(forms.Form):
    """A file of items. Its rows are checked elsewhere."""

    file = forms.FileField(
        label="File",
        help_text="CSV or TSV with a header row, an Excel workbook (.xlsx), JSON or JSONL with one object per item, "
        "Parquet, or a zipped folder in the layout of Hugging Face datasets.",
        error_messages={
            "required": CHOOSE,
            "empty": "This file is empty. Choose the file with the items.",
            "missing": CHOOSE,
        },
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(SUFFIXES)}),
    )
