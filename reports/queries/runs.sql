-- The runs that have evaluation samples.
SELECT DISTINCT run_id
FROM samples
ORDER BY run_id
