"""Where the server is and which token opens it: given, from the environment, or saved by ``hitserver login``."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from hitserver_client.errors import HitserverError

URL, TOKEN = "HITSERVER_URL", "HITSERVER_TOKEN"


@dataclass(frozen=True)
class Access:
    """The address of a server, and a token of a user there."""

    url: str
    token: str

    def __repr__(self) -> str:
        return f"Access({self.url!r})"  # logs and notebooks do not show the token

    @property
    def api(self) -> str:
        return f"{self.url.rstrip('/')}/api/v1/"


def saved_file() -> Path:
    """Where ``hitserver login`` saves the address and the token."""
    folder = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "hitserver" / "client.json"


def save(access: Access) -> Path:
    """Save for later. Only the owner of the account can read the file."""
    path = saved_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"url": access.url, "token": access.token})
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    path.chmod(0o600)
    return path


def find(url: str | None = None, token: str | None = None) -> Access:
    """Raises HitserverError with what is missing and where to get it."""
    url, token = url or os.environ.get(URL), token or os.environ.get(TOKEN)
    if not (url and token) and saved_file().exists():
        saved = json.loads(saved_file().read_text(encoding="utf-8"))
        if url is None or url.rstrip("/") == saved["url"].rstrip("/"):
            url, token = url or saved["url"], token or saved["token"]
    if not url:
        raise HitserverError(f"Which server? Pass its address, set {URL}, or run: hitserver login ADDRESS")
    if not url.startswith(("http://", "https://")):
        raise HitserverError(f"“{url}” is no address of a server. Write it with https://, as in your browser.")
    if not token:
        what = f"There is no token for {url}. Create one in the console on the page Your account; "
        raise HitserverError(what + f"then pass it, set {TOKEN}, or run: hitserver login {url}")
    return Access(url, token.strip())
