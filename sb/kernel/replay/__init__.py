"""Captured runs, and what is different when they run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.kernel.replay.comparing import Divergence as Divergence
    from sb.kernel.replay.comparing import changed_facts as changed_facts
    from sb.kernel.replay.comparing import divergences as divergences
    from sb.kernel.replay.packet import MemoryCapture as MemoryCapture
    from sb.kernel.replay.packet import Packet as Packet
    from sb.kernel.replay.packet import Step as Step
    from sb.kernel.replay.packet import packet_of as packet_of
    from sb.kernel.replay.packet_file import PacketFile as PacketFile
    from sb.kernel.replay.shelf import Capture as Capture
    from sb.kernel.replay.shelf import PacketShelf as PacketShelf
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.kernel.replay.comparing": "Divergence changed_facts divergences",
            "sb.kernel.replay.packet": "MemoryCapture Packet Step packet_of",
            "sb.kernel.replay.packet_file": "PacketFile",
            "sb.kernel.replay.shelf": "Capture PacketShelf",
        },
    )
