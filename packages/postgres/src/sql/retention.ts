/**
 * What purging needs: deletions of many runs in one commit, and turns.
 *
 * retention-sql.1. All runs of a call are locked first, in one order, and all their blobs last, in one order, so that two
 *     calls wait for each other and do not block each other.
 */

import { clock, planned } from "./clock.ts";
import { dropUnread } from "./delete.ts";

/** As `delete`, for those runs that are still as the caller saw them. */
export const purgeFunctions = (schema: string): string => `
CREATE FUNCTION ${schema}.delete_unchanged(locators text[], statuses text[], created float8[], updated float8[],
  used text)
RETURNS SETOF text
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  candidates bigint[];
  candidate bigint;
  names text[] := '{}';
  next int := 1;
BEGIN
  PERFORM FROM ${schema}.runs WHERE locator = ANY (locators) ORDER BY locator FOR UPDATE;
  candidates := ARRAY(
    SELECT r.id FROM unnest(locators, statuses, created, updated) AS h (locator, status, created_at, updated_at)
    JOIN ${schema}.runs r ON r.locator = h.locator AND r.status = h.status AND r.created_at = h.created_at
      AND r.updated_at = h.updated_at AND NOT r.deleted);
  RETURN QUERY SELECT r.locator FROM ${schema}.runs r WHERE r.id = ANY (candidates);
  IF used IS NOT NULL THEN
    PERFORM ${schema}.keep_spent(used, ARRAY(SELECT r.locator FROM ${schema}.runs r WHERE r.id = ANY (candidates)));
  END IF;
  UPDATE ${schema}.runs SET deleted = true, wake_at = NULL, blocked = NULL, held = false, held_until = NULL
    WHERE id = ANY (candidates);
${dropUnread(schema)}END $$;
`;

/** Takes the turn $1 for owner $2 and $3 milliseconds; $4 is the clock of the caller, or NULL. One row when it has it. */
export const takeTurnText = (schema: string): string => {
  const now = clock("$4::float8");
  return `INSERT INTO ${schema}.turns AS t (name, owner, until) VALUES ($1, $2, ${now} + $3::float8)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
      WHERE t.owner = excluded.owner OR t.until <= ${now} RETURNING 1`;
};
