-- SPDX-License-Identifier: Apache-2.0
-- Loads the tables of jobs after load.sql loaded the stacks. A job belongs to the interval in which it ended, or, of
-- one without an end, began.
CREATE OR REPLACE TEMP TABLE incoming_job AS
SELECT regexp_replace(filename, '\.jobs\.csv$', '.csv') AS filename, device, address, program, count::BIGINT AS jobs,
       busy::BIGINT AS busy_ns, waiting::BIGINT AS waiting_ns, coalesce("end", started, begin)::BIGINT AS at_ns
FROM read_csv(getvariable('job_files'), header = true, all_varchar = true, delim = ',', quote = '"', escape = '"',
              filename = true, union_by_name = true, hive_partitioning = false);

-- Jobs whose stacks file is missing have no time; nothing is loaded then.
SELECT error('no ' || filename || ' beside its .jobs.csv file')
FROM (SELECT DISTINCT filename FROM incoming_job) WHERE filename NOT IN (SELECT filename FROM incoming);

INSERT INTO device_use
SELECT n.profile_id, device, address, program, sum(jobs)::BIGINT, sum(busy_ns)::BIGINT, sum(waiting_ns)::BIGINT
FROM (SELECT j.*, (SELECT coalesce(max(i.begin_ns) FILTER (i.begin_ns <= j.at_ns), min(i.begin_ns))
                   FROM incoming AS i WHERE i.filename = j.filename) AS begin_ns FROM incoming_job AS j)
JOIN incoming_new AS n USING (filename, begin_ns)
GROUP BY ALL;
