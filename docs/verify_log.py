"""Verify a SecondBrain log with nothing but Python: `python verify_log.py brain.db [anchors.jsonl [operators.json]]`.

Written from docs/reference/event-log.md, independently of SecondBrain's own code. Exit 0: whole; 1: touched; 2: usage.
With the operators file, and the package cryptography, the signatures of prunes are checked too; otherwise it says that
they were not.
"""

import base64
import json
import os
import re
import sqlite3
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

# What still decides is never pruned.
IN_FORCE = {
    "audit.pruned",
    "operator.changed",
    "contract.baseline.changed",
    "grant.made",
    "kill.thrown",
    "kill.lifted",
    "incident.opened",
    "incident.closed",
    "outcome.judged",
}
unchecked = []  # rows of which no signature could be checked


def unsigned(row, keys):
    """The reason why a prune that was made after an enrolment is nobody's; "" when it is an operator's."""
    said = json.loads(row["payload"])
    try:
        statement, signature = said["signed"]["statement"], said["signed"]["signature"]
        same = all(said[name] == statement[name] for name in ("through", "removed"))
        key = statement["key"]
    except (KeyError, TypeError):
        return "is not signed, although operators are enrolled"
    if not same or statement["action"] != "audit.pruned":
        return "is signed as another one"
    if keys is None:
        unchecked.append(row["id"])
        return ""
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        data = json.dumps(statement, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
        public = Ed25519PublicKey.from_public_bytes(keys[key])
        public.verify(base64.b64decode(signature), data)
    except (InvalidSignature, KeyError, ValueError):
        return "has a signature that does not fit"
    return ""


def public_keys(path):
    """The keys of an operators file by their ids; of those that were revoked nothing counts."""
    keys = {}
    for entry in json.loads(Path(path).read_text(encoding="utf-8"))["entries"]:
        statement = entry["statement"]
        key = sha256(statement["public_key"].encode()).hexdigest()[:16]
        keys[key] = base64.b64decode(statement["public_key"].removeprefix("ed25519:"))
        if statement["action"] == "revoke":
            del keys[key]
    return keys


def adopted(anchors):
    """The hashes of unsigned prunes from before prunes were signed, which the home noted when it was upgraded."""
    path = Path(anchors).with_name("statements.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = [json.loads(line) for line in lines if line.strip()]
    return {line["hash"] for line in found if line["kind"] == "audit.pruned"}


def verify(database, anchors, keys=None, old_prunes=()):
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
        unexplained, through, enrolled = [], 0, False
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
                unexplained.append((seq, row["kind"]))
            elif sha256((row["salt"] + row["payload"]).encode()).hexdigest() != row["payload_digest"]:
                yield f"{stream}: the payload of row {seq} was edited"
            elif row["kind"] == "audit.pruned":
                claimed = re.search(r'"through":(\d+)[,}]', row["payload"])
                if claimed is None or int(claimed[1]) >= seq:
                    yield f"{stream}: row {seq} claims a pruning that cannot have been"
                elif enrolled and row["hash"] not in old_prunes and unsigned(row, keys):
                    yield f"{stream}: row {seq} claims a pruning that {unsigned(row, keys)}"
                else:
                    through = max(through, int(claimed[1]))
            enrolled = enrolled or row["kind"] == "operator.changed"
            if heads.get(seq, set()) - {row["hash"]}:
                yield f"{stream}: row {seq} is not the one that was anchored"
            previous = row["hash"]
        yield from (
            f"{stream}: the payload of row {gone} is missing"
            for gone, kind in unexplained
            if gone > through or kind in IN_FORCE
        )
        if max(heads, default=0) > seq:
            yield f"{stream}: rows {seq + 1} to {max(heads)} were anchored and are missing"
    if not rows:
        print("there are no rows")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4) or not all(map(os.path.isfile, sys.argv[1:])):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines() if len(sys.argv) > 2 else []
    known = public_keys(sys.argv[3]) if len(sys.argv) == 4 and find_spec("cryptography") else None
    anchored = [json.loads(line) for line in lines if line.strip()]
    old = adopted(sys.argv[2]) if len(sys.argv) > 2 else ()
    problems = list(verify(sys.argv[1], anchored, known, old))
    if unchecked:
        print(
            "signatures of prunes were not checked: that needs operators.json and cryptography",
            file=sys.stderr,
        )
    print("\n".join(problems) or "ok")
    sys.exit(1 if problems else 0)
