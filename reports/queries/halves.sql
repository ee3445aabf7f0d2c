-- Right answers and samples of each problem in the samples with an even number, of `read_policies`.
-- The other half is the difference to the whole.
SELECT
    s.run_id,
    s.step,
    s.benchmark,
    s.problem_id,
    count(*) AS samples,
    count(*) FILTER (WHERE s.correct AND s.finish_reason <> 'length') AS correct
FROM samples AS s
JOIN read_policies AS p ON s.run_id = p.run_id AND s.step = p.step
WHERE s.sample % 2 = 0
GROUP BY s.run_id, s.step, s.benchmark, s.problem_id
ORDER BY s.run_id, s.step, s.benchmark, s.problem_id
