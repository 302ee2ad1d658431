/**
 * The function that reads a run in one round trip: its row, its batches and their blobs.
 *
 * read-sql.1. STABLE: all its queries see one state of the database, that of the calling statement.
 */

import { clock, planned } from "./clock.ts";

/** `asked` NULL means the beginning of the current chapter. The name of the first row says whether its lease lasts. A named blob that is missing has no body. */
export const readFunctions = (schema: string): string => `
CREATE FUNCTION ${schema}.read(of_locator text, asked int, given_time float8 DEFAULT NULL)
RETURNS TABLE (kind text, at_position int, name text, body text)
LANGUAGE plpgsql STABLE ${planned} AS $$
DECLARE
  run ${schema}.runs;
  first int;
BEGIN
  SELECT * INTO run FROM ${schema}.runs r WHERE r.locator = of_locator;
  IF NOT FOUND THEN RETURN; END IF;
  first := greatest(coalesce(asked, run.chapter, 0), run.dropped);
  RETURN QUERY SELECT 'run', first, (run.lease_until > ${clock("given_time")})::text, row_to_json(run)::text;
  RETURN QUERY SELECT 'batch', b.position, NULL, b.body FROM ${schema}.batches b
    WHERE b.run = run.id AND b.position >= first ORDER BY b.position;
  RETURN QUERY SELECT 'blob', NULL::int, n.name, b.body
    FROM (SELECT DISTINCT k.name FROM ${schema}.named k WHERE k.run = run.id AND k.position >= first) AS n
    LEFT JOIN ${schema}.blobs b ON b.name = n.name;
END $$;
`;
