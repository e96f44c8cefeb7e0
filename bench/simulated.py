"""How many submissions a second simulated workers make: ``python -m bench.simulated [--submissions 600]``.

For some examples with many items, on SQLite in a temporary folder (``--database URL``: an empty PostgreSQL database),
prints milliseconds of this process's processor time for each submission and the rate that they allow: through the pages
(in this process, without a server's connections) and directly. The database's own time is included on SQLite only.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
EXAMPLES = ("likert", "form", "pairwise", "abs_hds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=600)
    parser.add_argument("--database", default="", metavar="URL")
    parser.add_argument("--examples", nargs="+", default=[*EXAMPLES])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HITSERVER_VAR": folder, "DATABASE_URL": options.database}
        os.environ["DJANGO_SETTINGS_MODULE"] = "hitserver.settings"
        import django

        django.setup()
        from django.conf import settings
        from django.contrib.auth import get_user_model
        from django.core.management import call_command

        settings.ALLOWED_HOSTS = ["testserver"]
        call_command("migrate", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        owner = get_user_model().objects.create_superuser("bench")
        print(f"{'study':<12}{'way':<10}{'submissions':>12}{'CPU ms each':>13}{'a second':>10}{'wall s':>8}")
        for example in options.examples:
            for way in ("pages", "directly"):
                measure(example, way, options.submissions, owner)


def measure(example: str, way: str, submissions: int, owner: Any) -> None:
    from annotation.models import Item, Study
    from annotation.studies import launching
    from annotation.work import bots
    from annotation.work.direct_bots import simulate_directly

    study = study_of(example, f"{example.replace('_', '-')}-{way}", owner)
    items = list(Item.objects.filter(study=study, role="main").order_by("pk"))
    copies = -(-submissions * study.items_per_hit // (len(items) * study.ratings_per_item))
    Item.objects.bulk_create(
        Item(study=study, external_id=f"{item.external_id}-{copy}", payload=item.payload, source=item.source,
             position=item.position + copy * len(items))
        for copy in range(1, copies) for item in items
    )  # fmt: skip
    Study.objects.filter(pk=study.pk).update(hits_per_worker=None)
    study = Study.objects.get(pk=study.pk)
    launching.publish(study=study, actor="bench")
    options: dict[str, Any] = {"study": study, "workers": study.ratings_per_item, "mix": bots.Mix(), "seed": 1}
    cpu, wall = time.process_time(), time.perf_counter()
    if way == "directly":
        tally = simulate_directly(**options)
    else:
        bots.Browser._send = sent_here  # type: ignore[method-assign, assignment]
        tally = bots.simulate_workers(**options, base_url="http://testserver", at_once=1)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    each = cpu * 1e3 / max(1, tally.submissions)
    print(
        f"{example:<12}{way:<10}{tally.submissions:>12,}{each:>13.1f}{1e3 / each:>10.0f}{wall:>8.0f}"
        + "".join(f"  {problem[:80]}" for problem in tally.problems[:2]),
        flush=True,
    )


def study_of(example: str, slug: str, owner: Any) -> Any:
    """A draft like the example."""
    import yaml
    from django.core.management import call_command

    from annotation.models import Study

    file = HERE / "examples" / f"{example}.yaml"
    content = yaml.safe_load(file.read_text()) | {"slug": slug}
    copy = file.with_name(f".{slug}.yaml")
    try:
        copy.write_text(yaml.safe_dump(content, sort_keys=False))
        call_command("study", "apply", str(copy), owner=owner.username, stdout=io.StringIO())
    finally:
        copy.unlink()
    return Study.objects.get(slug=slug)


def sent_here(browser: Any, method: str, path: str, body: str | None) -> Any:
    """`bots.Browser._send`, answered by this process."""
    from django.test import Client

    from annotation.work.bots import Response

    client = Client()
    response: Any = (
        client.get(path, secure=True)
        if body is None
        else client.post(path, body, content_type="application/x-www-form-urlencoded", secure=True)
    )
    return Response(response.status_code, response.headers.get("Location", ""), response.content.decode())


if __name__ == "__main__":
    main()
