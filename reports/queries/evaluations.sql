-- Every evaluated checkpoint and benchmark, with what the policy had cost.
SELECT
    run_id, step, benchmark, problems, samples, generated_tokens, truncated,
    cost_updates, cost_generated_tokens, cost_device_seconds, cost_train_flops
FROM evaluations
ORDER BY run_id, step, benchmark
