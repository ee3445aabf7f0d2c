-- Every cost as it was booked. The floats are summed outside, exactly, so that no order of addition shows.
SELECT
    run_id, phase, coalesce(purpose, '') AS purpose, device_kind,
    device_seconds, wall_seconds, generated_tokens, prompt_tokens, flops, energy_joules
FROM costs
ORDER BY run_id, phase, purpose, step
