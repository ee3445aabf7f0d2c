-- The first samples of each problem, one row each, of the policies in `read_policies`.
SELECT
    s.run_id,
    s.benchmark,
    s.problem_id,
    s.sample,
    CAST(s.correct AND s.finish_reason <> 'length' AS INTEGER) AS correct,
    CAST(s.finish_reason = 'length' AS INTEGER) AS truncated,
    s.generated_tokens
FROM samples AS s
JOIN read_policies AS p ON s.run_id = p.run_id AND s.step = p.step
WHERE s.sample < p.first_samples
ORDER BY s.run_id, s.benchmark, s.problem_id, s.sample
