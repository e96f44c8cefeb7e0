"""How a tool is started: as a separate program that finds the marketplace by its environment alone."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.marketplace.support.clients import PATH, Key
from tests.services import ROOT
from tests.support import clean_environment

HERE = Path(__file__).resolve().parent
REDIRECT = ROOT / "examples" / "mturk"


@dataclass(frozen=True)
class Tool:
    """Runs programs with the key and address of a marketplace in their environment."""

    base_url: str
    key: Key
    folder: Path

    @property
    def endpoint(self) -> str:
        return self.base_url + PATH

    def environment(self, **changes: str) -> dict[str, str]:
        """Has nothing of whoever starts the tests: no profile, no key, no address."""
        inherited = {name: value for name, value in clean_environment().items() if not name.startswith("AWS_")}
        ours = {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), inherited["PATH"])),
            "HOME": str(self.folder),
            "AWS_CONFIG_FILE": str(self.folder / "config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "credentials"),
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_PAGER": "",
            "NODE_NO_WARNINGS": "1",
        }
        return {**inherited, **ours, **changes}

    def pointed(self, **changes: str) -> dict[str, str]:
        """With the variables that `manage.py marketplace make-key` prints."""
        variables = {
            "AWS_ENDPOINT_URL_MTURK": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.key.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.key.secret,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
        }
        return self.environment(**{**variables, **changes})

    def run(
        self, *command: str, env: dict[str, str] | None = None, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=env or self.pointed(),
            cwd=self.folder,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def asked(self, *command: str, env: dict[str, str] | None = None) -> Any:
        """The JSON that a program prints."""
        done = self.run(*command, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)
