"""The harness audit of SecondBrain itself: probes that use it as its users do, and reports of what they saw."""
