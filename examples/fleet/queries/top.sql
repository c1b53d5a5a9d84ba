-- SPDX-License-Identifier: Apache-2.0
-- Functions with the most time, over all machines.
WITH stack_value AS (
  SELECT stack_id, sum(value)::DOUBLE AS value FROM sample JOIN selected USING (profile_id)
  WHERE value_type = getvariable('value_type') GROUP BY stack_id),
known AS (SELECT * FROM stack_value JOIN stack USING (stack_id) WHERE program <> '[lost]'),
self AS (SELECT function_id, sum(value) AS self FROM known GROUP BY 1),
total AS (SELECT function_id, sum(value) AS total
          FROM (SELECT unnest(list_distinct(functions)) AS function_id, value FROM known) GROUP BY 1)
SELECT f.name AS function, round(coalesce(self, 0) / 1e9, 3) AS self_s, round(total / 1e9, 3) AS total_s,
       round(100 * coalesce(self, 0) / (SELECT sum(value) FROM known), 2) AS self_percent,
       round(100 * total / (SELECT sum(value) FROM known), 2) AS total_percent
FROM total LEFT JOIN self USING (function_id) JOIN function AS f USING (function_id)
ORDER BY coalesce(self, 0) DESC, total DESC LIMIT getvariable('limit');
