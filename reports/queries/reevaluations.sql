-- The second evaluation of a policy, under noise of its own, by problem.
SELECT run_id, step, benchmark, CAST(problem_id AS VARCHAR) AS problem_id, samples, correct, failed
FROM reevaluations
ORDER BY run_id, step, benchmark, problem_id
