"""Trust in agents and in what they remember: one store of assessments, and what follows from it."""
