"""SecondBrain: a kernel that governs what agents do, and a memory for what they learn."""

__version__ = "0.1.0"
