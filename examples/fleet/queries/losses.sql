-- SPDX-License-Identifier: Apache-2.0
-- What machines lost. The other queries leave these values out.
WITH lost AS (
  SELECT stack_id, string_agg(f.name, ';' ORDER BY position) AS loss
  FROM (SELECT stack_id, unnest(functions) AS function_id, generate_subscripts(functions, 1) AS position
        FROM stack WHERE program = '[lost]') JOIN function AS f USING (function_id)
  GROUP BY stack_id)
SELECT host, service, loss, value_type, unit, sum(value)::BIGINT AS value, sum(count)::BIGINT AS count
FROM sample JOIN lost USING (stack_id) JOIN selected USING (profile_id)
GROUP BY ALL ORDER BY value DESC LIMIT getvariable('limit');
