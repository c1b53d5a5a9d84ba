-- SPDX-License-Identifier: Apache-2.0
-- The profiles that the other queries read: those of the variables from, until, host, service, version and container;
-- NULL is any.
CREATE OR REPLACE TEMP VIEW selected AS
SELECT * FROM profile
WHERE begin_time >= getvariable('from') AND begin_time < getvariable('until')
  AND (getvariable('host') IS NULL OR host = getvariable('host')::VARCHAR)
  AND (getvariable('service') IS NULL OR service = getvariable('service')::VARCHAR)
  AND (getvariable('version') IS NULL OR version = getvariable('version')::VARCHAR)
  AND (getvariable('container') IS NULL OR container = getvariable('container')::VARCHAR);
