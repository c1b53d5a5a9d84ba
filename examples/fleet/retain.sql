-- SPDX-License-Identifier: Apache-2.0
-- Removes profiles that began before the variable `until`, and what only they used. The space is used again.
DELETE FROM profile WHERE begin_time < getvariable('until');
DELETE FROM sample WHERE profile_id NOT IN (SELECT profile_id FROM profile);
DELETE FROM device_use WHERE profile_id NOT IN (SELECT profile_id FROM profile);
DELETE FROM stack WHERE stack_id NOT IN (SELECT stack_id FROM sample);
DELETE FROM function WHERE function_id NOT IN (SELECT unnest(functions) FROM stack);
