-- SPDX-License-Identifier: Apache-2.0
-- Loads CSV tables of iaprof, all or none. Variables: stack_files, job_files (lists of paths), and host, service,
-- version and container of all of them, or NULL where the path states it: host=h1/service=web/version=1.2/FILE.
-- A file of jobs, NAME.jobs.csv, belongs to the same run as NAME.csv, which relates its clock to UTC.
CREATE OR REPLACE TEMP TABLE incoming_row AS
SELECT filename, coalesce(program, '') AS program, coalesce(stack, '') AS stack, value_type, unit, value::BIGINT AS value, count::BIGINT AS count,
       begin::BIGINT AS begin_ns, "end"::BIGINT AS end_ns, begin_realtime::BIGINT AS utc_ns
FROM read_csv(getvariable('stack_files'), header = true, all_varchar = true, delim = ',', quote = '"', escape = '"',
              filename = true, union_by_name = true, hive_partitioning = false, max_line_size = 16777216);

-- A profile is one interval of one file.
CREATE OR REPLACE TEMP TABLE incoming AS
SELECT DISTINCT filename, begin_ns, end_ns, make_timestamp(utc_ns // 1000) AS begin_time,
       coalesce(getvariable('host')::VARCHAR, nullif(regexp_extract(filename, '(?:^|/)host=([^/]*)/', 1), '')) AS host,
       coalesce(getvariable('service')::VARCHAR, nullif(regexp_extract(filename, '(?:^|/)service=([^/]*)/', 1), '')) AS service,
       coalesce(getvariable('version')::VARCHAR, nullif(regexp_extract(filename, '(?:^|/)version=([^/]*)/', 1), '')) AS version,
       coalesce(getvariable('container')::VARCHAR, nullif(regexp_extract(filename, '(?:^|/)container=([^/]*)/', 1), '')) AS container
FROM incoming_row;

-- What was loaded before is not added a second time. `IS NOT DISTINCT FROM` compares NULL like a value.
CREATE OR REPLACE TEMP TABLE incoming_new AS
SELECT nextval('profile_ids')::INTEGER AS profile_id, * FROM
  (SELECT * FROM incoming AS i WHERE NOT EXISTS (
     SELECT 1 FROM profile AS p WHERE p.begin_time = i.begin_time AND p.host IS NOT DISTINCT FROM i.host
       AND p.service IS NOT DISTINCT FROM i.service AND p.version IS NOT DISTINCT FROM i.version
       AND p.container IS NOT DISTINCT FROM i.container)
   QUALIFY row_number() OVER (PARTITION BY begin_time, host, service, version, container ORDER BY filename) = 1
   ORDER BY begin_time, host);

INSERT INTO profile
SELECT profile_id, host, service, version, container, begin_time, end_ns - begin_ns FROM incoming_new;

CREATE OR REPLACE TEMP TABLE incoming_sample AS
SELECT n.profile_id, r.program, r.stack, r.value_type, r.unit, r.value, r.count
FROM incoming_row AS r JOIN incoming_new AS n USING (filename, begin_ns);

-- The first frame of a stack is the program, which has a column of its own.
CREATE OR REPLACE TEMP TABLE incoming_stack AS
SELECT DISTINCT stack, program, string_split(stack, ';')[2:] AS names FROM incoming_sample;

INSERT INTO function (name)
SELECT DISTINCT name FROM (SELECT unnest(names) AS name FROM incoming_stack)
WHERE name NOT IN (SELECT name FROM function);

CREATE OR REPLACE TEMP TABLE incoming_stack_ids AS
SELECT s.stack, any_value(s.program) AS program,
       coalesce(list(f.function_id ORDER BY s.position) FILTER (f.function_id IS NOT NULL), []) AS functions
FROM (SELECT stack, program, unnest(names) AS name, generate_subscripts(names, 1) AS position FROM incoming_stack
      UNION ALL SELECT stack, program, NULL, 0 FROM incoming_stack WHERE len(names) = 0) AS s
LEFT JOIN function AS f ON f.name = s.name
GROUP BY s.stack;

INSERT INTO stack (program, functions, function_id)
SELECT DISTINCT i.program, i.functions, i.functions[-1] FROM incoming_stack_ids AS i
WHERE NOT EXISTS (SELECT 1 FROM stack AS k WHERE k.program = i.program AND k.functions = i.functions);

INSERT INTO sample
SELECT n.profile_id, k.stack_id, n.value_type, n.unit, sum(n.value)::BIGINT, sum(n.count)::BIGINT
FROM incoming_sample AS n JOIN incoming_stack_ids AS i USING (stack)
JOIN stack AS k ON k.program = i.program AND k.functions = i.functions
GROUP BY ALL ORDER BY n.profile_id;
