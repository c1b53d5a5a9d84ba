-- SPDX-License-Identifier: Apache-2.0
-- Time of each machine in each function that has at least 0.5 % of the time, for the releases of the variables a and b:
-- what `fleet.mjs check` compares. The row without a function is the machine's sum.
WITH side AS (SELECT profile_id, host, version = getvariable('b') AS is_b, duration_ns,
                     dense_rank() OVER (ORDER BY host, version) AS machine_id FROM selected
              WHERE version IN (getvariable('a'), getvariable('b')) AND host IS NOT NULL),
machine_function AS (
  SELECT host, is_b, function_id, value
  FROM (SELECT machine_id, function_id, sum(value)::DOUBLE AS value
        FROM sample JOIN side USING (profile_id) JOIN stack USING (stack_id)
        WHERE value_type = getvariable('value_type') AND program <> '[lost]' GROUP BY ALL)
  JOIN (SELECT DISTINCT machine_id, host, is_b FROM side) USING (machine_id)),
common AS (SELECT function_id FROM machine_function GROUP BY ALL
           HAVING sum(value) >= 0.005 * (SELECT sum(value) FROM machine_function)),
duration AS (SELECT host, is_b, sum(duration_ns)::DOUBLE AS duration_ns FROM side GROUP BY ALL)
SELECT host, is_b, f.name AS function, value, NULL::DOUBLE AS duration_ns
FROM machine_function JOIN common USING (function_id) JOIN function AS f USING (function_id)
UNION ALL
SELECT host, is_b, NULL, sum(value), any_value(duration_ns)
FROM machine_function JOIN duration USING (host, is_b) GROUP BY host, is_b
ORDER BY host, is_b, function;
