/**
 * Functions that remove runs, chapters and blobs.
 *
 * delete-sql.1. A run is locked before its readers are looked up, so that a fork that is being created is seen or refused.
 * delete-sql.2. Blobs are locked before their names are counted, in a statement of its own: a name that was added while
 *     the lock was awaited is seen.
 */

import { planned } from "./clock.ts";

const dropBlobs = (schema: string): string => `
CREATE FUNCTION ${schema}.drop_blobs(names text[]) RETURNS void
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  PERFORM FROM ${schema}.blobs WHERE name = ANY (names) ORDER BY name FOR UPDATE;
  DELETE FROM ${schema}.blobs b WHERE b.name = ANY (names)
    AND NOT EXISTS (SELECT FROM ${schema}.named k WHERE k.name = b.name);
END $$;
`;

/** Removes the runs `candidates`, which are hidden, and then their hidden ancestors, once no fork reads them. */
export const dropUnread = (schema: string): string => `  WHILE next <= cardinality(candidates) LOOP
    candidate := candidates[next];
    next := next + 1;
    PERFORM FROM ${schema}.runs WHERE id = candidate AND deleted FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    CONTINUE WHEN EXISTS (SELECT FROM ${schema}.readers WHERE ancestor = candidate);
    names := names || ARRAY(SELECT DISTINCT name FROM ${schema}.named WHERE run = candidate);
    candidates := candidates || ARRAY(SELECT ancestor FROM ${schema}.readers WHERE reader = candidate);
    DELETE FROM ${schema}.named WHERE run = candidate;
    DELETE FROM ${schema}.batches WHERE run = candidate;
    DELETE FROM ${schema}.chapters WHERE run = candidate;
    DELETE FROM ${schema}.readers WHERE reader = candidate;
    DELETE FROM ${schema}.runs WHERE id = candidate;
  END LOOP;
  IF cardinality(names) > 0 THEN PERFORM ${schema}.drop_blobs(names); END IF;
`;

/** Hides a run with these marks; false when it has others. Removes it, and then its deleted ancestors, once no fork reads them. */
const remove = (schema: string): string => `
CREATE FUNCTION ${schema}.delete(of_locator text, of_marks text, used text) RETURNS boolean
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  candidates bigint[];
  candidate bigint;
  names text[] := '{}';
  next int := 1;
BEGIN
  candidates := ARRAY(SELECT id FROM ${schema}.runs WHERE locator = of_locator FOR UPDATE);
  IF EXISTS (SELECT FROM ${schema}.runs r WHERE r.id = ANY (candidates) AND NOT r.deleted) THEN
    IF EXISTS (SELECT FROM ${schema}.runs r WHERE r.id = ANY (candidates) AND r.marks IS DISTINCT FROM of_marks) THEN
      RETURN false;
    END IF;
    IF used IS NOT NULL THEN PERFORM ${schema}.keep_spent(used, ARRAY[of_locator]); END IF;
  END IF;
  UPDATE ${schema}.runs SET deleted = true, wake_at = NULL, blocked = NULL, held = false, held_until = NULL
    WHERE id = ANY (candidates);
${dropUnread(schema)}  RETURN true;
END $$;
`;

/** Removes the batches before a position. If that is refused, returns the reason and the id of the run. */
const dropChapters = (schema: string): string => `
CREATE FUNCTION ${schema}.drop_chapters(of_locator text, before int) RETURNS TABLE (reason text, of_run text)
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  run ${schema}.runs;
  names text[];
BEGIN
  SELECT * INTO run FROM ${schema}.runs r WHERE r.locator = of_locator AND NOT r.deleted FOR UPDATE;
  IF NOT FOUND OR before <= run.dropped THEN RETURN; END IF;
  of_run := run.run_id;
  IF NOT EXISTS (SELECT FROM ${schema}.chapters c WHERE c.run = run.id AND c.position = before) THEN
    reason := 'chapter';
  ELSIF EXISTS (SELECT FROM ${schema}.readers k WHERE k.ancestor = run.id AND k.reads_from < before) THEN
    reason := 'read';
  END IF;
  IF reason IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;
  names := ARRAY(SELECT DISTINCT k.name FROM ${schema}.named k WHERE k.run = run.id AND k.position < before);
  DELETE FROM ${schema}.named k WHERE k.run = run.id AND k.position < before;
  DELETE FROM ${schema}.batches b WHERE b.run = run.id AND b.position < before;
  DELETE FROM ${schema}.chapters c WHERE c.run = run.id AND c.position < before;
  UPDATE ${schema}.runs r SET dropped = before WHERE r.id = run.id;
  IF cardinality(names) > 0 THEN PERFORM ${schema}.drop_blobs(names); END IF;
END $$;
`;

export const deleteFunctions = (schema: string): string =>
  [dropBlobs, remove, dropChapters].map((text) => text(schema)).join("");
