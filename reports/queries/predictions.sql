-- What was predicted of each prompt that an update used, and the rewards that its rollouts then earned. A group
-- with an answer that could not be graded has no outcome. Rewards are listed, so that they are summed in one order.
SELECT
    s.run_id,
    s.step,
    CAST(s.prompt_id AS VARCHAR) AS prompt_id,
    s.predicted,
    s.evidence,
    s.outcome,
    list(q.reward ORDER BY q.group_id, q.sample) AS rewards
FROM selections s
JOIN sequences q
    ON q.run_id = s.run_id AND q.step = s.step AND q.prompt_id = s.prompt_id AND q.purpose = 'rollout'
WHERE s.outcome <> 'passed'
GROUP BY s.run_id, s.step, s.prompt_id, s.predicted, s.evidence, s.outcome
HAVING count(*) FILTER (WHERE q.grader_state = 'grader_error') = 0
ORDER BY s.run_id, s.step, s.prompt_id
