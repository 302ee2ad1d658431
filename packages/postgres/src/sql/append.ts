/**
 * The function that appends a group of batches in one round trip. Its name has the version of its arguments: processes
 * of an earlier version of the library, which are still running, call the earlier function.
 *
 * append-sql.1. Every batch is checked before anything of it is written, so a refused one changes nothing. The others of
 *     its group are not affected. One row is returned for each that is refused.
 * append-sql.2. Runs are locked in the order of the arguments, which callers sort. Blobs are locked in the order of their
 *     names. What still meets in a deadlock is rolled back by Postgres, and the caller tries again.
 * append-sql.3. A blob that an append names is locked until the commit, so that a deletion cannot remove it in between.
 *     The same holds for the ancestors of a new fork.
 */

/** Milliseconds since the epoch, by the clock of the server unless the caller passes its own. */
export const clock = (given: string): string =>
  `coalesce(${given}, extract(epoch FROM statement_timestamp())::float8 * 1000)`;

/** Plans of functions are kept: one made while a table was small must not scan it once it is large. */
export const planned = "SET enable_seqscan = off SET jit = off";

/** Whether the run is locked or not is unknown until here; the reason of a refusal is found afterwards. */
const refusal = (schema: string): string => `
CREATE FUNCTION ${schema}.refusal_1(of_locator text, at_position int, of_created float8, of_ancestors text) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  run record;
BEGIN
  SELECT deleted, created_at, length INTO run FROM ${schema}.runs WHERE locator = of_locator;
  IF FOUND THEN
    IF run.deleted OR (at_position > 0 AND run.created_at <> of_created) THEN RETURN 'gone'; END IF;
    RETURN CASE WHEN run.length = at_position THEN NULL ELSE 'moved' END;
  END IF;
  IF of_ancestors <> '[]' AND EXISTS (
    SELECT FROM json_array_elements_text(of_ancestors::json) AS a (locator)
    WHERE NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.locator = a.locator)
  ) THEN RETURN 'gone'; END IF;
  RETURN CASE WHEN at_position = 0 THEN NULL ELSE 'moved' END;
END $$;
`;

/** Names of blobs that are neither stored nor sent; locks the others, and stores those that were sent. */
const blobs = (schema: string): string => `
CREATE FUNCTION ${schema}.keep_blobs_1(names text[], bodies text[]) RETURNS text[]
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  needed text[] := ARRAY(SELECT b.name FROM unnest(names, bodies) AS b (name, body) WHERE b.body IS NULL);
  kept text[];
BEGIN
  IF cardinality(needed) > 0 THEN
    kept := ARRAY(SELECT b.name FROM ${schema}.blobs b WHERE b.name = ANY (needed) ORDER BY b.name FOR KEY SHARE);
    IF cardinality(kept) < cardinality(needed) THEN
      RETURN ARRAY(SELECT unnest(needed) EXCEPT SELECT unnest(kept));
    END IF;
  END IF;
  IF cardinality(needed) < cardinality(names) THEN
    LOOP
      INSERT INTO ${schema}.blobs (name, body)
        SELECT b.name, b.body FROM unnest(names, bodies) AS b (name, body) WHERE b.body IS NOT NULL ORDER BY b.name
        ON CONFLICT (name) DO NOTHING;
      kept := ARRAY(SELECT b.name FROM ${schema}.blobs b WHERE b.name = ANY (names) ORDER BY b.name FOR KEY SHARE);
      -- Otherwise the run that named one of them was deleted in between.
      EXIT WHEN cardinality(kept) = cardinality(names);
    END LOOP;
  END IF;
  RETURN '{}';
END $$;
`;

/** Locks the ancestors of a new run; says why it cannot be created. */
const ancestors = (schema: string): string => `
CREATE FUNCTION ${schema}.read_ancestors_1(of_ancestors text, of_reads_from text) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  asked text[] := ARRAY(SELECT DISTINCT json_array_elements_text(of_ancestors::json));
  present int;
  lacking int;
BEGIN
  PERFORM FROM ${schema}.runs WHERE locator = ANY (asked) ORDER BY locator FOR KEY SHARE;
  SELECT count(*), count(*) FILTER (WHERE r.dropped > coalesce((of_reads_from::json ->> (a.n - 1)::int)::int, 0))
    INTO present, lacking
    FROM (SELECT value AS locator, min(ordinality) AS n
          FROM json_array_elements_text(of_ancestors::json) WITH ORDINALITY GROUP BY value) AS a
    JOIN ${schema}.runs r ON r.locator = a.locator;
  RETURN CASE WHEN present < cardinality(asked) THEN 'gone' WHEN lacking > 0 THEN 'dropped' END;
END $$;
`;

const create = (schema: string): string => `
    INSERT INTO ${schema}.runs (locator, run_id, workflow, label, parent, ancestors, reads_from, created_at, status,
        wake_at, updated_at, steps, chapter, length, owner, process, lease_until, held, held_until)
      VALUES (locators[i], run_ids[i], workflows[i], labels[i], parents[i], ancestries[i], reads[i], created[i],
        statuses[i], wakes[i], updated[i], steps_done[i], chapters[i], 1,
        CASE WHEN ttl >= 0 THEN owners[i] END, CASE WHEN ttl >= 0 THEN by_process END,
        CASE WHEN ttl >= 0 THEN at_time + ttl END, coalesce(ttl >= 0, false), CASE WHEN ttl >= 0 THEN at_time + ttl END)
      ON CONFLICT (locator) DO NOTHING
      RETURNING id INTO run_number;`;

const grow = (schema: string): string => `
    UPDATE ${schema}.runs AS r SET status = statuses[i], wake_at = wakes[i], updated_at = updated[i],
        steps = steps_done[i], chapter = coalesce(chapters[i], r.chapter), length = r.length + 1,
        quiet_until = 0, blocked = NULL,
        owner = CASE WHEN ttl IS NULL THEN r.owner WHEN ttl >= 0 THEN owners[i] END,
        process = CASE WHEN ttl IS NULL THEN r.process WHEN ttl >= 0 THEN by_process END,
        lease_until = CASE WHEN ttl IS NULL THEN r.lease_until WHEN ttl >= 0 THEN at_time + ttl END,
        held = CASE WHEN ttl IS NULL THEN r.lease_until IS NOT NULL ELSE ttl >= 0 END,
        held_until = CASE WHEN ttl IS NULL THEN r.lease_until WHEN ttl >= 0 THEN
          CASE WHEN r.held_until BETWEEN at_time + ttl * 0.75 AND at_time + ttl THEN r.held_until ELSE at_time + ttl END END
      WHERE r.locator = locators[i] AND r.length = positions[i] AND r.created_at = created[i] AND NOT r.deleted
      RETURNING id INTO run_number;`;

const append = (schema: string): string => `
CREATE FUNCTION ${schema}.append_1(
  locators text[], positions int[], batches text[], created float8[], statuses text[], wakes float8[], updated float8[],
  steps_done int[], chapters int[], owners text[], ttls float8[], run_ids text[], workflows text[], labels text[],
  parents text[], ancestries text[], reads text[], impossible boolean[], names_of int[], blob_names text[],
  blob_bodies text[], by_process text, given_time float8
) RETURNS TABLE (item int, reason text, missing text[])
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
  ttl float8;
  run_number bigint;
  names int := 0;
BEGIN
  -- An append is acknowledged only when it is on the disk, whatever the role or the database has as its default.
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'on', true); END IF;
  FOR i IN 1 .. cardinality(locators) LOOP
    item := i;
    reason := NULL;
    missing := NULL;
    ttl := ttls[i];
    run_number := NULL;
    IF names_of[i] > 0 OR impossible[i] OR (positions[i] = 0 AND ancestries[i] <> '[]') THEN
      PERFORM FROM ${schema}.runs WHERE locator = locators[i] FOR UPDATE;
      reason := ${schema}.refusal_1(locators[i], positions[i], created[i], ancestries[i]);
      IF reason IS NULL AND positions[i] = 0 AND ancestries[i] <> '[]' THEN
        reason := ${schema}.read_ancestors_1(ancestries[i], reads[i]);
      END IF;
      IF reason IS NULL AND (impossible[i] OR names_of[i] > 0) THEN
        IF NOT impossible[i] THEN
          missing := ${schema}.keep_blobs_1(
            blob_names[names + 1 : names + names_of[i]], blob_bodies[names + 1 : names + names_of[i]]);
        END IF;
        IF impossible[i] OR cardinality(missing) > 0 THEN reason := 'blob'; END IF;
      END IF;
    END IF;
    IF reason IS NULL THEN
      IF positions[i] = 0 THEN${create(schema)}
      ELSE${grow(schema)}
      END IF;
      IF run_number IS NULL THEN
        reason := coalesce(${schema}.refusal_1(locators[i], positions[i], created[i], ancestries[i]), 'moved');
      ELSE
        INSERT INTO ${schema}.batches (run, position, body) VALUES (run_number, positions[i], batches[i]);
        IF chapters[i] = positions[i] AND positions[i] > 0 THEN
          INSERT INTO ${schema}.chapters (run, position) VALUES (run_number, positions[i]);
        END IF;
        IF names_of[i] > 0 THEN
          INSERT INTO ${schema}.named (run, name, position)
            SELECT run_number, b.name, positions[i] FROM unnest(blob_names[names + 1 : names + names_of[i]]) AS b (name)
            WHERE NOT EXISTS (SELECT FROM ${schema}.named k
              WHERE k.run = run_number AND k.name = b.name AND k.position >= coalesce(chapters[i], 0));
        END IF;
        IF positions[i] = 0 AND ancestries[i] <> '[]' THEN
          INSERT INTO ${schema}.readers (ancestor, reader, reads_from)
            SELECT r.id, run_number, coalesce((reads[i]::json ->> (a.n - 1)::int)::int, 0)
            FROM (SELECT value AS locator, min(ordinality) AS n
                  FROM json_array_elements_text(ancestries[i]::json) WITH ORDINALITY GROUP BY value) AS a
            JOIN ${schema}.runs r ON r.locator = a.locator;
        END IF;
      END IF;
    END IF;
    names := names + names_of[i];
    IF reason IS NOT NULL THEN RETURN NEXT; END IF;
  END LOOP;
END $$;
`;

export const appendFunctions = (schema: string): string =>
  [refusal, blobs, ancestors, append].map((text) => text(schema)).join("");
