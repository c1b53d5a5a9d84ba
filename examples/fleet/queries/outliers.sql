-- SPDX-License-Identifier: Apache-2.0
-- Machines that differ from others with the same service, and devices that differ from others of the same model. The
-- score is the distance from the median in standard deviations, estimated from the median absolute deviation; groups
-- of fewer than 8 have none. A score above 6 is listed.
WITH member AS (SELECT profile_id, service, host, dense_rank() OVER (ORDER BY service, host) AS machine_id
                FROM selected WHERE host IS NOT NULL),
machine_function AS (
  SELECT machine_id, function_id, sum(value)::DOUBLE AS value, sum(count)::DOUBLE AS count
  FROM sample JOIN member USING (profile_id) JOIN stack USING (stack_id)
  WHERE value_type = getvariable('value_type') AND program <> '[lost]' GROUP BY ALL),
profile_function AS (
  SELECT m.service, m.host, function_id, value, count
  FROM machine_function JOIN (SELECT DISTINCT machine_id, service, host FROM member) AS m USING (machine_id)),
machine AS (SELECT service, host, sum(value) AS value, sum(count) AS count FROM profile_function GROUP BY ALL),
seconds AS (SELECT service, host, sum(duration_ns)::DOUBLE AS duration FROM selected GROUP BY ALL),
-- Functions with at least 0.5 % of a service's time; a machine without a sample of one has a share of 0.
common AS (SELECT service, function_id FROM profile_function GROUP BY service, function_id
           QUALIFY sum(value) >= 0.005 * sum(sum(value)) OVER (PARTITION BY service)),
measure AS (
  SELECT m.service AS peers, m.host, 'share of ' || f.name AS measure, coalesce(p.value, 0) / m.value AS x,
         -- Variance of a share that comes from the number of samples alone.
         (coalesce(p.count, 0) + 1) / (m.count * m.count) AS sampling_variance
  FROM machine AS m JOIN common AS c ON c.service IS NOT DISTINCT FROM m.service JOIN function AS f USING (function_id)
  LEFT JOIN profile_function AS p
    ON p.host = m.host AND p.service IS NOT DISTINCT FROM m.service AND p.function_id = c.function_id
  UNION ALL
  SELECT m.service, m.host, 'CPUs in use', m.value / s.duration, m.value * m.value / m.count / (s.duration * s.duration)
  FROM machine AS m JOIN seconds AS s ON s.host = m.host AND s.service IS NOT DISTINCT FROM m.service
  UNION ALL
  SELECT device, host, 'busy share of ' || coalesce(address, device), sum(busy_ns) / sum(any_duration), 0
  FROM (SELECT device, host, address, profile_id, sum(busy_ns)::DOUBLE AS busy_ns, any_value(duration_ns)::DOUBLE AS any_duration
        FROM device_use JOIN selected USING (profile_id) GROUP BY ALL)
  GROUP BY device, host, address),
-- Devices of one model are compared whatever their address.
grouped AS (SELECT *, if(measure LIKE 'busy share of %', 'busy', measure) AS kind FROM measure),
middle AS (SELECT peers, kind, median(x) AS median, mad(x) AS deviation, count(*) AS members FROM grouped GROUP BY ALL),
scored AS (
  SELECT g.host, g.peers, g.measure, g.x, m.median, m.members,
         abs(g.x - m.median) / sqrt(greatest(pow(1.4826 * m.deviation, 2), g.sampling_variance, pow(0.001 * m.median, 2)))
           AS score
  FROM grouped AS g JOIN middle AS m ON m.peers IS NOT DISTINCT FROM g.peers AND m.kind = g.kind WHERE m.members >= 8)
SELECT host, peers, measure, round(x, 4) AS value, round(median, 4) AS median, members, round(score, 1) AS score
FROM scored WHERE score > 6 ORDER BY scored.score DESC LIMIT getvariable('limit');
