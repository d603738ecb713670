"""How does SecondBrain grade itself? Probes that use it as its users do, and the reports of what they saw."""
