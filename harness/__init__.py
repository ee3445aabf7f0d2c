"""The command line, and all that touches the world: runs, the ledger, tasks, grading, evaluation."""
