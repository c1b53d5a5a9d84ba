-- SPDX-License-Identifier: Apache-2.0
-- Profiles of many machines. Names of tables and columns are stable; README.md describes them. NULL is unknown.
CREATE SEQUENCE IF NOT EXISTS profile_ids;
CREATE SEQUENCE IF NOT EXISTS function_ids;
CREATE SEQUENCE IF NOT EXISTS stack_ids;

CREATE TABLE IF NOT EXISTS profile (
  profile_id  INTEGER DEFAULT nextval('profile_ids'),
  host        VARCHAR,
  service     VARCHAR,
  version     VARCHAR,
  container   VARCHAR,
  begin_time  TIMESTAMP,  -- UTC
  duration_ns BIGINT
);

CREATE TABLE IF NOT EXISTS function (
  function_id INTEGER DEFAULT nextval('function_ids'),
  name        VARCHAR
);

-- The dictionary of stacks. `functions` has the outermost function first, and no program; `function_id` is the last
-- one, which ran.
CREATE TABLE IF NOT EXISTS stack (
  stack_id    INTEGER DEFAULT nextval('stack_ids'),
  program     VARCHAR,
  functions   INTEGER[],
  function_id INTEGER
);

CREATE TABLE IF NOT EXISTS sample (
  profile_id INTEGER,
  stack_id   INTEGER,
  value_type VARCHAR,
  unit       VARCHAR,
  value      BIGINT,
  count      BIGINT
);

CREATE TABLE IF NOT EXISTS device_use (
  profile_id INTEGER,
  device     VARCHAR,  -- the model, such as NVIDIA H200
  address    VARCHAR,  -- of the device in its machine
  program    VARCHAR,
  jobs       BIGINT,
  busy_ns    BIGINT,
  waiting_ns BIGINT
);
