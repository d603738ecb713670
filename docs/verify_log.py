"""Verify a SecondBrain log with nothing but Python: `python verify_log.py brain.db [anchors.jsonl]`.

Written from docs/audit-log.md, independently of SecondBrain's own code. Exit 0: whole; 1: touched; 2: usage.
"""

import json
import os
import re
import sqlite3
import sys
from hashlib import sha256
from pathlib import Path


def verify(database, anchors):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    identity = connection.execute("SELECT value FROM meta WHERE key = 'database_id'").fetchone()[0]
    rows = 0
    for number, stream in connection.execute("SELECT number, name FROM streams").fetchall():
        heads = {}
        for anchor in (a for a in anchors if a["stream"] == stream):
            if anchor["database"] == identity:
                heads.setdefault(anchor["seq"], set()).add(anchor["hash"])
            elif anchor["path"] == os.path.realpath(database):
                yield f"{stream}: the database was replaced: another one was at this path"
        first, seq, previous = number << 40, 0, sha256(f"{identity}/{stream}".encode()).hexdigest()
        unexplained, through = [], 0
        query = "SELECT * FROM events WHERE id > ? AND id < ? ORDER BY id"
        cursor = connection.execute(query, (first, (number + 1) << 40))
        names = [column[0] for column in cursor.description]
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            seq, expected, rows = row["id"] - first, seq + 1, rows + 1
            if seq != expected:
                yield f"{stream}: rows {expected} to {seq - 1} are missing"
            elif row["prev"] != previous:
                yield f"{stream}: row {seq} does not follow the one before it"
            about = [row[name] for name in ("run_id", "trace_id", "agent", "tool_id", "call_id")]
            link = [1, stream, seq, row["at"], row["kind"], *about, row["payload_digest"], row["prev"]]
            text = json.dumps(link, ensure_ascii=False, separators=(",", ":"))
            if sha256(text.encode()).hexdigest() != row["hash"]:
                yield f"{stream}: row {seq} was edited"
            if row["payload"] is None:
                unexplained.append(seq)
            elif sha256((row["salt"] + row["payload"]).encode()).hexdigest() != row["payload_digest"]:
                yield f"{stream}: the payload of row {seq} was edited"
            elif row["kind"] == "audit.pruned":
                claimed = re.search(r'"through":(\d+)[,}]', row["payload"])
                if claimed is None or int(claimed[1]) >= seq:
                    yield f"{stream}: row {seq} claims a pruning that cannot have been"
                else:
                    through = max(through, int(claimed[1]))
            if heads.get(seq, set()) - {row["hash"]}:
                yield f"{stream}: row {seq} is not the one that was anchored"
            previous = row["hash"]
        yield from (
            f"{stream}: the payload of row {gone} is missing" for gone in unexplained if gone > through
        )
        if max(heads, default=0) > seq:
            yield f"{stream}: rows {seq + 1} to {max(heads)} were anchored and are missing"
    if not rows:
        print("there are no rows")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not all(map(os.path.isfile, sys.argv[1:])):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines() if len(sys.argv) == 3 else []
    problems = list(verify(sys.argv[1], [json.loads(line) for line in lines if line.strip()]))
    print("\n".join(problems) or "ok")
    sys.exit(1 if problems else 0)
