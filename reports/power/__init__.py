"""Power by simulation: the declared model's data, pushed through the report's own estimators and verdicts."""
