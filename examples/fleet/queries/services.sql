-- SPDX-License-Identifier: Apache-2.0
-- Functions with the most time of each service and version.
WITH stack_value AS (
  SELECT service, version, stack_id, sum(value)::DOUBLE AS value FROM sample JOIN selected USING (profile_id)
  WHERE value_type = getvariable('value_type') GROUP BY ALL),
machines AS (SELECT service, version, count(DISTINCT host) AS machines FROM selected GROUP BY ALL),
self AS (SELECT service, version, function_id, sum(value) AS self
         FROM stack_value JOIN stack USING (stack_id) WHERE program <> '[lost]' GROUP BY ALL),
shares AS (SELECT *, self / sum(self) OVER (PARTITION BY service, version) AS share FROM self)
SELECT s.service, s.version, m.machines, f.name AS function, round(self / 1e9, 3) AS self_s,
       round(100 * share, 2) AS self_percent
FROM shares AS s JOIN function AS f USING (function_id)
JOIN machines AS m ON m.service IS NOT DISTINCT FROM s.service AND m.version IS NOT DISTINCT FROM s.version
QUALIFY row_number() OVER (PARTITION BY s.service, s.version ORDER BY self DESC) <= getvariable('limit')
ORDER BY s.service, s.version, self DESC;
