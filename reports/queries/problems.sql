-- One row a benchmark problem of an evaluated checkpoint, in integers only.
-- `correct` is null where the grader failed: such a sample is neither right nor wrong. A truncated
-- completion is not an answer, whatever stands in it.
-- Distinct samples are counted as bits, and distinct texts within a group's own list: `count(DISTINCT)` would
-- hold every row in one table. Asked for some runs at a time, it needs memory for those.
SELECT
    run_id,
    step,
    benchmark,
    CAST(problem_id AS VARCHAR) AS problem_id,
    count(*) AS samples,
    coalesce(bit_count(bit_or(CAST(1 AS BIGINT) << greatest(0, least(sample, 61)))
        FILTER (WHERE sample BETWEEN 0 AND 61)), 0)
        + coalesce(list_unique(list(sample) FILTER (WHERE sample NOT BETWEEN 0 AND 61)), 0) AS distinct_samples,
    count(*) FILTER (WHERE correct AND finish_reason <> 'length') AS correct,
    count(*) FILTER (WHERE correct IS NULL OR grader_state = 'grader_error') AS failed,
    count(*) FILTER (WHERE grader_state = 'unparseable') AS unparseable,
    count(*) FILTER (WHERE grader_state = 'limit') AS limited,
    count(*) FILTER (WHERE finish_reason = 'length') AS truncated,
    CAST(sum(generated_tokens) AS BIGINT) AS tokens,
    list_unique(list(text_digest)) AS distinct_texts
FROM samples
WHERE run_id BETWEEN ? AND ?
GROUP BY run_id, step, benchmark, problem_id
ORDER BY run_id, step, benchmark, problem_id
