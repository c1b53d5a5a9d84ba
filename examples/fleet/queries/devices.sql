-- SPDX-License-Identifier: Apache-2.0
-- Device time by model and program.
SELECT device AS model, program, count(DISTINCT (host, address)) AS devices, sum(jobs)::BIGINT AS jobs,
       round(sum(busy_ns) / 1e9, 3) AS busy_s, round(sum(waiting_ns) / 1e9, 3) AS waiting_s,
       round(100 * sum(busy_ns) / sum(sum(busy_ns)) OVER (), 2) AS busy_percent
FROM device_use JOIN selected USING (profile_id)
GROUP BY device, program ORDER BY sum(busy_ns) DESC LIMIT getvariable('limit');
