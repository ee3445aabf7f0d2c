-- Work done after the last commit before an interruption: charged to no budget, and shown.
SELECT run_id, steps, generated_tokens, device_seconds, wall_seconds
FROM lost
ORDER BY run_id, after_commit
