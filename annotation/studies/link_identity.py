"""How well a study can tell people apart who come by its open link: for pages and commands."""

from __future__ import annotations

from annotation.models import Study

UNCHECKED_ID = (
    "The server cannot check the panel's ids: whoever knows somebody's id can start in their place. Personal links are "
    "safer."
)


def identity_warnings(study: Study) -> list[str]:
    """What to know about ids that the study's open link takes from its address. Empty for studies without."""
    by_id = study.access == Study.Access.OPEN and study.identity == Study.Identity.PARAMETER
    return [UNCHECKED_ID] if by_id else []
