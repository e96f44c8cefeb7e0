"""Versions of the code on the machine, each in a folder of its own, with its packages."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from deploy.machine.layout import Layout
from deploy.machine.steps import Failure, Steps, output, succeeds

KEPT_RELEASES = 3
#: What the source itself shows as its current version.
SOURCE_HEAD = "refs/heads/source-head"
#: Folders of a checkout that belong to no version.
NOT_CODE = {
    ".git",
    ".venv",
    "var",
    "node_modules",
    "__pycache__",
    "demo-output",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
}


@dataclass(frozen=True)
class Source:
    """Where versions come from: a git repository (an address or a folder), or a folder without git."""

    address: str

    @property
    def is_plain_folder(self) -> bool:
        return (
            Path(self.address).is_dir()
            and not (Path(self.address) / ".git").exists()
            and not (Path(self.address) / "HEAD").exists()
        )


def source_file(layout: Layout) -> Path:
    """The file with the address that versions come from."""
    return layout.home / "source"


def fetch(layout: Layout, steps: Steps, source: Source, version: str) -> Path:
    """Puts a version into its folder, and returns that. A version that is there already is not fetched again."""
    if source.is_plain_folder:
        return _copy(layout, steps, Path(source.address))
    git = _git(layout)
    repository = layout.home / "repository.git"
    if not steps.dry_run and not repository.exists():
        output([*git, "init", "--quiet", "--bare", str(repository)])
    references = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", f"+HEAD:{SOURCE_HEAD}")
    git = [*git, f"--git-dir={repository}"]
    steps.run(*git, "fetch", "--quiet", "--prune", source.address, *references)
    if steps.dry_run:
        return layout.releases / "VERSION"
    try:
        commit = output([*git, "rev-parse", "--verify", "--quiet", f"{version or _newest(git)}^{{commit}}"]).strip()
    except Failure:
        raise Failure(f"{source.address} has no tag, branch or commit {version}.") from None
    release = layout.releases / commit[:12]
    if (release / "manage.py").is_file():
        steps.say(f"  {release} is there already")
        return release
    with NamedTemporaryFile(suffix=".tar") as archive:
        output([*git, "archive", f"--output={archive.name}", commit])
        draft = _empty(layout.releases / f".{release.name}")
        output(["tar", "--extract", "--no-same-owner", f"--file={archive.name}", f"--directory={draft}"])
    _place(steps, draft, release)
    return release


def _git(layout: Layout) -> list[str]:
    """Git that takes the address for what it is, whoever owns the folder, and asks for no password."""
    file = layout.home / "gitconfig"
    if layout.home.is_dir() and not file.exists():
        file.write_text("[safe]\n\tdirectory = *\n[advice]\n\tdetachedHead = false\n")
    return ["env", "GIT_TERMINAL_PROMPT=0", f"GIT_CONFIG_GLOBAL={file}", "git"]


def _newest(git: list[str]) -> str:
    """The tag with the highest version number; without tags, what a clone would show."""
    tags = output([*git, "tag", "--list", "v[0-9]*", "--sort=-version:refname"]).split()
    return tags[0] if tags else SOURCE_HEAD


def _copy(layout: Layout, steps: Steps, folder: Path) -> Path:
    """A folder's contents as a version named after their checksum."""
    if not (folder / "manage.py").is_file() or not (folder / "requirements.lock").is_file():
        raise Failure(f"{folder} is not a folder of HITServer: it has no manage.py or no requirements.lock.")
    mark = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not NOT_CODE.intersection(path.relative_to(folder).parts):
            mark.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    release = layout.releases / mark.hexdigest()[:12]
    if (release / "manage.py").is_file():
        steps.say(f"  {release} is there already")
        return release
    if steps.dry_run:
        steps.say(f"  copies {folder} to {release}")
        return release
    draft = _empty(layout.releases / f".{release.name}")
    shutil.copytree(folder, draft, ignore=lambda _, names: NOT_CODE.intersection(names), dirs_exist_ok=True)
    _place(steps, draft, release)
    return release


def _empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _place(steps: Steps, draft: Path, release: Path) -> None:
    # The server's user reads it, and only root changes it.
    output(["chmod", "-R", "u=rwX,go=rX", str(draft)])
    draft.rename(release)
    steps.say(f"  the code is in {release}")


def install_packages(layout: Layout, steps: Steps, release: Path, *, models: bool) -> None:
    """The packages in the lock files, checked by their hashes. If the current version has the same, they are shared."""
    link, environment = release / ".venv", layout.environment()
    setup = (release / "script" / "setup", "--locked", *(("--models",) if models else ()))
    if steps.dry_run:
        steps.run(*setup)
        return
    if succeeds(*setup, "--check", environment=environment):
        steps.say("  its packages are there already")
        return
    current = layout.current / ".venv"
    if not link.is_symlink() and current.exists():
        link.symlink_to(current.resolve())
        if succeeds(*setup, "--check", environment=environment):
            steps.say("  its packages are those of the current version")
            return
    link.unlink(missing_ok=True)
    packages = layout.packages / release.name
    # A half-made folder of an earlier try is made again.
    _empty(packages)
    output(["python3", "-m", "venv", str(packages)], environment=environment)
    link.symlink_to(packages)
    steps.run(*setup, environment=environment)
    # The server's user cannot write here, so Python could not save what it compiles.
    output([str(link / "bin" / "python"), "-m", "compileall", "-q", "-j", "0", str(release)], environment=environment)


def has_models(release: Path) -> bool:
    """Whether the packages for language models are installed beside this version."""
    return (release / ".venv" / ".requirements-models.txt.stamp").exists()


def discard(layout: Layout, release: Path) -> None:
    """Deletes a version that never ran, and its packages if nothing else uses them."""
    shutil.rmtree(release, ignore_errors=True)
    _forget_packages(layout)


def prune(layout: Layout, steps: Steps, *, kept: set[Path]) -> None:
    """Deletes all but the newest versions. Those in ``kept`` stay, however old."""
    for draft in layout.releases.glob(".*"):  # what an interrupted upgrade left
        shutil.rmtree(draft)
    releases = sorted(layout.releases.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for release in releases[KEPT_RELEASES:]:
        if release not in kept:
            steps.say(f"  deletes the old version {release.name}")
            shutil.rmtree(release)
    _forget_packages(layout)


def _forget_packages(layout: Layout) -> None:
    used = {link.resolve() for link in layout.releases.glob("*/.venv")}
    for folder in layout.packages.iterdir() if layout.packages.is_dir() else ():
        if folder.resolve() not in used:
            shutil.rmtree(folder)


def touch(release: Path) -> None:
    """Marks a version as used now, for ``prune``."""
    os.utime(release)
