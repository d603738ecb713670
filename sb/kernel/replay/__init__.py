"""Captured runs, and what is different when they run again."""

from sb.kernel.replay.comparing import Divergence, changed_facts, divergences
from sb.kernel.replay.packet import MemoryCapture, Packet, Step, packet_of
from sb.kernel.replay.packet_file import PacketFile
from sb.kernel.replay.shelf import Capture, PacketShelf

__all__ = [
    "Capture",
    "Divergence",
    "MemoryCapture",
    "Packet",
    "PacketFile",
    "PacketShelf",
    "Step",
    "changed_facts",
    "divergences",
    "packet_of",
]
