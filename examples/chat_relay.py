"""Post what needs a person to a chat's incoming webhook. It shows and asks; nothing said in the chat decides.

    sb watch --notify 'python3 examples/chat_relay.py https://chat.example.com/hooks/ID'

It reads one item of `sb watch` as JSON on stdin. Run it where no operator's key is.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from typing import Any

TIMEOUT_S = 10
_MARKUP = str.maketrans({"`": "'", "<": "&lt;", ">": "&gt;", "&": "&amp;"})


def message(need: dict[str, Any]) -> str:
    """The post: what an agent wrote stands in a code block, where it can mention nobody and link nowhere."""
    parts = (f"{need['state']}: {need['object']}", need["why"], need["agent"] and f"agent {need['agent']}")
    said = "\n".join(filter(None, parts)).translate(_MARKUP)
    return f"An operator is needed. Decide at a terminal, not here:\n```\n{said}\n{need['command']}\n```"


def main() -> None:
    (url,) = sys.argv[1:]
    body = json.dumps({"text": message(json.load(sys.stdin))}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request, timeout=TIMEOUT_S).close()
    except urllib.error.URLError as error:
        sys.exit(f"chat relay: not posted: {error.reason}")


if __name__ == "__main__":
    main()
