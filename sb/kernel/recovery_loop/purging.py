"""Remove snapshots on a person's word, which is on the log before it happens."""

from __future__ import annotations

from sb.log.event import Subject
from sb.log.event_log import EventLog
from sb.log.kinds import RECOVERY_PURGED
from sb.store.snapshots import SnapshotStore


def purge(
    log: EventLog,
    snapshots: SnapshotStore,
    *,
    by: str,
    reason: str,
    older_than: str = "",
    before: float | None,
) -> tuple[int, int]:
    """Remove all snapshots, or those taken before a time.

    Args:
        by: who asks for it.
        older_than: the age as it was typed, for the log. before: seconds since the epoch; None for all.

    Returns:
        Number of snapshots removed, and their bytes.

    Raises:
        CannotKeep: another process holds the store.
    """
    size = snapshots.size()
    untrusted = {"by": by, "reason": reason} | ({"older_than": older_than} if older_than else {})
    log.append(RECOVERY_PURGED, untrusted, Subject(), {"snapshots": size.packs, "bytes": size.stored})
    return snapshots.purge(older_than=before)
