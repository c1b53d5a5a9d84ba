-- SPDX-License-Identifier: Apache-2.0
-- The queries for ClickHouse behind an OpenTelemetry Collector, whose exporter `clickhouse` writes the table
-- otel_profiles (experimental in contrib: a row for each sample; functions with the innermost first). None of this has
-- been run. Parameters: clickhouse-client --param_value_type=cpu --param_a=1.0 ...

-- Functions with the most time in the last hour, over all machines
SELECT FunctionNames[1] AS function, sum(arraySum(Values)) / 1e9 AS self_s,
       uniqExact(ResourceAttributes['host.name']) AS machines
FROM otel_profiles
WHERE Timestamp > now() - INTERVAL 1 HOUR AND SampleType = {value_type:String}
GROUP BY function ORDER BY self_s DESC LIMIT 20;

-- The same by service and version
SELECT ServiceName AS service, ResourceAttributes['service.version'] AS version, FunctionNames[1] AS function,
       sum(arraySum(Values)) / 1e9 AS self_s
FROM otel_profiles
WHERE Timestamp > now() - INTERVAL 1 HOUR AND SampleType = {value_type:String}
GROUP BY service, version, function ORDER BY service, version, self_s DESC LIMIT 20 BY service, version;

-- Time of each machine in each function in the releases a and b: rows for comparison.mjs
SELECT ResourceAttributes['host.name'] AS host, ResourceAttributes['service.version'] = {b:String} AS is_b,
       FunctionNames[1] AS function, sum(arraySum(Values)) AS value
FROM otel_profiles
WHERE ServiceName = {service:String} AND ResourceAttributes['service.version'] IN ({a:String}, {b:String})
  AND SampleType = {value_type:String}
GROUP BY host, is_b, function;

-- Machines whose share of a function differs from that of others with the same service
WITH share AS (
  SELECT service, host, function, value / sum(value) OVER (PARTITION BY service, host) AS x
  FROM (SELECT ServiceName AS service, ResourceAttributes['host.name'] AS host, FunctionNames[1] AS function,
               sum(arraySum(Values)) AS value
        FROM otel_profiles
        WHERE Timestamp > now() - INTERVAL 1 HOUR AND SampleType = {value_type:String}
        GROUP BY service, host, function)),
middle AS (SELECT service, function, median(x) AS median FROM share GROUP BY service, function),
spread AS (SELECT service, function, any(m.median) AS median, median(abs(s.x - m.median)) AS deviation, count() AS members
           FROM share AS s JOIN middle AS m USING (service, function) GROUP BY service, function)
SELECT service, host, function, x, median, abs(x - median) / (1.4826 * deviation) AS score
FROM share JOIN spread USING (service, function)
WHERE members >= 8 AND deviation > 0 AND score > 6 ORDER BY score DESC LIMIT 20;
