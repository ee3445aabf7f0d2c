-- What the runs wrote while training, by purpose, in integers only.
SELECT
    run_id,
    purpose,
    count(*) AS completions,
    count(*) FILTER (WHERE finish_reason = 'length') AS truncated,
    count(*) FILTER (WHERE grader_state = 'grader_error') AS failed,
    CAST(sum(generated_tokens) AS BIGINT) AS tokens
FROM sequences
GROUP BY run_id, purpose
ORDER BY run_id, purpose
