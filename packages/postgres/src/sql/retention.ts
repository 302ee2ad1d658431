/**
 * What purging needs: runs in the order in which they ended, deletions of many runs in one commit, turns.
 *
 * retention-sql.1. `ended_at` stays NULL until a run ends, so that the steps of a run change no index. A trigger keeps it,
 *     whichever version of the library ends a run.
 * retention-sql.2. Migrating writes no row of `runs`. Runs that ended before get their `ended_at` when runs are first listed
 *     by their end, a few at a time.
 * retention-sql.3. All runs of a call are locked first, in one order, and all their blobs last, in one order, so that two
 *     calls wait for each other and do not block each other.
 * retention-sql.4. Space of deleted rows is used again after a vacuum. Autovacuum comes when a twentieth of a table is
 *     gone, not a fifth, so that a table that is purged regularly does not grow.
 */

import { clock, planned } from "./append.ts";
import { dropUnread } from "./delete.ts";

const hasEnded = (status: string): string => `${status} IN ('completed', 'failed', 'cancelled')`;

const columns = (schema: string): string => `
ALTER TABLE ${schema}.runs ADD COLUMN ended_at float8;
CREATE INDEX runs_ended ON ${schema}.runs (workflow, status, ended_at, id) WHERE ended_at IS NOT NULL AND NOT deleted;
CREATE INDEX runs_ended_before ON ${schema}.runs (id) WHERE ended_at IS NULL AND ${hasEnded("status")} AND NOT deleted;

CREATE FUNCTION ${schema}.keep_end_1() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
  NEW.ended_at := CASE WHEN ${hasEnded("NEW.status")} THEN NEW.updated_at END;
  RETURN NEW;
END $$;
CREATE TRIGGER runs_end BEFORE UPDATE OF status ON ${schema}.runs FOR EACH ROW
  WHEN (${hasEnded("NEW.status")} OR OLD.ended_at IS NOT NULL) EXECUTE FUNCTION ${schema}.keep_end_1();
CREATE TRIGGER runs_begin_ended BEFORE INSERT ON ${schema}.runs FOR EACH ROW
  WHEN (${hasEnded("NEW.status")}) EXECUTE FUNCTION ${schema}.keep_end_1();

CREATE TABLE ${schema}.turns (
  name text COLLATE "C" PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  until float8 NOT NULL
);
`;

const scale = "autovacuum_vacuum_scale_factor = 0.05";

const vacuums = (schema: string): string =>
  ["batches", "blobs", "named", "chapters", "readers"]
    .map((table) => {
      const hasText = table === "batches" || table === "blobs";
      return `ALTER TABLE ${schema}.${table} SET (${scale}${hasText ? `, toast.${scale}` : ""});\n`;
    })
    .join("");

/** As `delete_1`, for those runs that are still as the caller saw them. */
const deleteUnchanged = (schema: string): string => `
CREATE FUNCTION ${schema}.delete_unchanged_1(locators text[], statuses text[], created float8[], updated float8[])
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

/** Gives at most $1 runs that ended before the migration the time of their end. Returns their number. */
export const keepEndsText = (schema: string): string => `WITH kept AS (
    UPDATE ${schema}.runs SET ended_at = updated_at WHERE id IN (
      SELECT id FROM ${schema}.runs WHERE ended_at IS NULL AND ${hasEnded("status")} AND NOT deleted
        ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1
  ) SELECT count(*)::int AS kept FROM kept`;

export const retention = (schema: string): string =>
  [columns, vacuums, deleteUnchanged].map((text) => text(schema)).join("");
