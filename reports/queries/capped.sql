-- Samples by how long they are, in the buckets of `token_buckets`, of the policies in `read_policies`.
-- `correct` counts finished answers only: what a cap at the bucket's end would have let through.
SELECT
    s.run_id,
    s.step,
    s.benchmark,
    b.bucket,
    count(*) AS samples,
    count(*) FILTER (WHERE s.correct AND s.finish_reason <> 'length') AS correct
FROM samples AS s
JOIN read_policies AS p ON s.run_id = p.run_id AND s.step = p.step
JOIN token_buckets AS b ON s.generated_tokens = b.generated_tokens
GROUP BY s.run_id, s.step, s.benchmark, b.bucket
ORDER BY s.run_id, s.step, s.benchmark, b.bucket
