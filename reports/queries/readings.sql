-- Which policy is read at each declared budget.
SELECT run_id, axis, budget, step, cost, crossing_cost
FROM readings
ORDER BY run_id, axis, budget, step
