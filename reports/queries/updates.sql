-- Every update's health, and the cost of the run so far.
SELECT
    run_id, step, groups, informative_groups, mean_steps, kl, clip_share, logprob_gap_max, entropy, mean_length,
    cum_updates, cum_generated_tokens, cum_device_seconds, cum_train_flops
FROM updates
ORDER BY run_id, step
