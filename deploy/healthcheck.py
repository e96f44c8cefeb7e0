"""For container engines: ends with 0 if this container's web server says that pages work."""

import os
import sys
from http.client import HTTPConnection, HTTPException


def main() -> int:
    host = os.environ.get("HITSERVER_ALLOWED_HOSTS", "localhost").split(",")[0].strip().lstrip(".")
    connection = HTTPConnection("127.0.0.1", int(os.environ.get("HITSERVER_PORT") or "8000"), timeout=8)
    try:
        connection.request("GET", "/healthz", headers={"Host": host})
        response = connection.getresponse()
        print(response.read(2000).decode(errors="replace"))
    except (OSError, HTTPException) as error:
        print(f"It does not answer: {error}")
        return 1
    return 0 if response.status == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
