"""Run human evaluations on a HITServer: from Python, a notebook or a terminal.

    from hitserver_client import Client

    with Client("https://hits.example.org", token="hits_…") as hits:
        study = hits.create_study({"slug": "summaries", "title": "Summaries", "task_type": "likert"}, items=frame)
        study.launch()
        print(study.link)

``AsyncClient`` has the same methods as coroutines.
"""

from hitserver_client._async.client import AsyncClient
from hitserver_client._async.jobs import AsyncJob
from hitserver_client._async.studies import AsyncStudy
from hitserver_client._sync.client import Client
from hitserver_client._sync.jobs import Job
from hitserver_client._sync.studies import Study
from hitserver_client.errors import (
    Conflict,
    HitserverError,
    JobFailed,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ProblemError,
    Reason,
    Refused,
    ServerFailed,
    TooManyRequests,
    Unreachable,
)
from hitserver_client.reports import Report

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "AsyncStudy",
    "Client",
    "Conflict",
    "HitserverError",
    "Job",
    "JobFailed",
    "NotAllowed",
    "NotFound",
    "NotSignedIn",
    "ProblemError",
    "Reason",
    "Refused",
    "Report",
    "ServerFailed",
    "Study",
    "TooManyRequests",
    "Unreachable",
]
__version__ = "0.1.0"
