"""Reading what happened: verification, pruning, findings, runs, policy replay."""
