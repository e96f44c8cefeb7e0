"""Where the paper's part may be written: to a new or empty folder."""

from __future__ import annotations

from pathlib import Path


class PaperFolderError(ValueError):
    """The folder cannot be written: ``what`` is wrong with it, and how to ``fix`` that."""

    def __init__(self, folder: Path, what: str, fix: str) -> None:
        super().__init__(f"{folder}: {what}; {fix}")
        self.what, self.fix = what, fix


def refuse_used(folder: Path) -> None:
    """Raises PaperFolderError for a file, and for a folder that is not empty: files of another study must not stay."""
    if folder.is_dir() and any(folder.iterdir()):
        raise PaperFolderError(folder, "the folder is not empty", "choose a new folder, or delete what is in it")
    if folder.exists() and not folder.is_dir():
        raise PaperFolderError(folder, "it is a file", "choose a folder")
