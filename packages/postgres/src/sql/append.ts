/**
 * The functions that append. A statement calls them for all batches of a group, in one round trip and one commit.
 *
 * append-sql.1. Every batch is checked before anything of it is written, so a refused one changes nothing. The others of
 *     its group are not affected.
 * append-sql.2. Runs are locked in the order of the calls, which callers sort. Blobs are locked in the order of their
 *     names. If a deadlock still happens, Postgres rolls one of the transactions back, and its caller tries
 *     again.
 * append-sql.3. A blob that an append names is locked until the commit, so that a deletion cannot remove it in between.
 *     The same holds for the ancestors of a new fork.
 */

import { clock, planned, serverClock } from "./clock.ts";
import { keepTags } from "./tags.ts";

/** Whether the run is locked or not is unknown until here; the reason of a refusal is found afterwards. */
const refusal = (schema: string): string => `
CREATE FUNCTION ${schema}.refusal(of_locator text, at_position int, of_created float8, of_ancestors text) RETURNS text
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
CREATE FUNCTION ${schema}.keep_blobs(names text[], bodies text[]) RETURNS text[]
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
CREATE FUNCTION ${schema}.read_ancestors(of_ancestors text, of_reads_from text) RETURNS text
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

/** SQL expressions of what an append changes in the row of its run. */
export interface GrownTerms {
  readonly status: string;
  readonly wake: string;
  readonly order: string;
  readonly updated: string;
  readonly steps: string;
  readonly owner: string;
  readonly ttl: string;
  readonly process: string;
  readonly now: string;
}

/**
 * The time of a lease as an append of a run with a slot sees it: NULL, which changes nothing, when the lease has expired.
 * Its slot may belong to another run by then, so the lease is taken again by `lease_slots`, which counts.
 */
export const slottedTtl = ({ owner, ttl, now }: Pick<GrownTerms, "owner" | "ttl" | "now">): string =>
  `(CASE WHEN ${ttl} < 0 OR r.slot IS NULL OR (r.owner = ${owner} AND r.lease_until > ${now}) THEN ${ttl} END)`;

/**
 * When a lease that is granted for `ttl` ends for the index (tables.2, tables.4): as before, unless less than a share of the
 * lease is left of it. So steps, and a lease that follows a claim, are updates that change no index.
 */
export const heldUntil = (now: string, ttl: string, share: number): string =>
  `CASE WHEN r.held_until BETWEEN ${now} + ${ttl} * ${share} AND ${now} + ${ttl} THEN r.held_until ELSE ${now} + ${ttl} END`;

export const grown = ({
  status,
  wake,
  order,
  updated,
  steps,
  owner,
  ttl,
  process,
  now,
}: GrownTerms): string => `
        status = ${status}, wake_at = ${wake}, due_order = ${order}, asleep = coalesce(${wake} > 0, false), updated_at = ${updated}, steps = ${steps},
        length = r.length + 1, quiet_until = 0, blocked = NULL,
        owner = CASE WHEN ${ttl} >= 0 THEN ${owner} WHEN ${ttl} IS NULL THEN r.owner END,
        process = CASE WHEN ${ttl} >= 0 THEN ${process} WHEN ${ttl} IS NULL THEN r.process END,
        lease_until = CASE WHEN ${ttl} >= 0 THEN ${now} + ${ttl} WHEN ${ttl} IS NULL THEN r.lease_until END,
        held = CASE WHEN ${ttl} IS NULL THEN r.lease_until IS NOT NULL ELSE ${ttl} >= 0 END,
        held_until = CASE
          WHEN ${ttl} >= 0 THEN ${heldUntil(now, ttl, 0.1)} WHEN ${ttl} IS NULL THEN r.lease_until END`;

const growTerms: GrownTerms = {
  status: "at_status",
  wake: "at_wake",
  order: "at_order",
  updated: "at_updated",
  steps: "at_steps",
  owner: "by_owner",
  ttl: "ttl",
  process: "by_process",
  now: "at_time",
};

const grow = (schema: string, ttl = growTerms.ttl): string => `
    UPDATE ${schema}.runs AS r SET${grown({ ...growTerms, ttl })}
      WHERE r.locator = at_locator AND r.length = at_position AND r.created_at = at_created AND NOT r.deleted
      RETURNING id INTO run_number;`;

/**
 * The step of a driver that goes on under its lease, as a statement of its own: the cheapest append once it is prepared, and
 * the dearest when it is planned each time. It writes no row when the batch is refused; `append` then finds the reason.
 */
export const goesOn = (schema: string, isSlotted: boolean): string => {
  const given = { owner: "$8::text", ttl: "$9::float8", now: serverClock };
  const terms: GrownTerms = {
    status: "'running'",
    wake: "0",
    order: "$7::float8",
    updated: "$5::float8",
    steps: "$6::int",
    process: "$10::text",
    ...given,
    ttl: isSlotted ? slottedTtl(given) : given.ttl,
  };
  return `WITH grown AS (
    UPDATE ${schema}.runs AS r SET${grown(terms)}
      WHERE r.locator = $1::text AND r.length = $2::int AND r.created_at = $4::float8 AND NOT r.deleted
      RETURNING r.id
  )
  INSERT INTO ${schema}.batches (run, position, body) SELECT id, $2::int, $3::text FROM grown`;
};

/** The last four are seldom sent: a driver that goes on under its lease is running. Each argument costs time to parse. */
const common = (isShort: boolean): string => {
  const usual = (value: string): string => (isShort ? ` DEFAULT ${value}` : "");
  return `at_locator text, at_position int, batch text, at_created float8, at_updated float8, at_steps int, at_order float8,
  by_owner text, ttl float8, by_process text, at_status text${usual("'running'")}, at_wake float8${usual("0")},
  line text${usual("'[]'")}, given_time float8${usual("NULL")}`;
};

/** The update of an append that is sent for a run with a slot. */
const growSlotted = (schema: string): string => grow(schema, slottedTtl(growTerms));

/** Adds a batch to a run that exists. Most appends are of this kind, so it does nothing else. */
const plain = (schema: string, name: string, grow: string): string => `
CREATE FUNCTION ${schema}.${name}(${common(true)}) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
  run_number bigint;
BEGIN${grow}
  IF run_number IS NULL THEN
    RETURN coalesce(${schema}.refusal(at_locator, at_position, at_created, line), 'moved');
  END IF;
  INSERT INTO ${schema}.batches (run, position, body) VALUES (run_number, at_position, batch);
  RETURN NULL;
END $$;
`;

const appendPlain = (schema: string): string =>
  plain(schema, "append", grow(schema)) + plain(schema, "append_slotted", growSlotted(schema));

const create = (schema: string): string => `
    INSERT INTO ${schema}.runs (locator, run_id, workflow, label, parent, ancestors, reads_from, created_at, status,
        wake_at, due_order, asleep, updated_at, steps, chapter, length, owner, process, lease_until, held, held_until, version, tags)
      VALUES (at_locator, of_run, of_workflow, of_label, of_parent, line, reads, at_created, at_status,
        at_wake, at_order, coalesce(at_wake > 0, false), at_updated, at_steps, at_chapter, 1,
        CASE WHEN ttl >= 0 THEN by_owner END, CASE WHEN ttl >= 0 THEN by_process END,
        at_time + CASE WHEN ttl >= 0 THEN ttl END, coalesce(ttl >= 0, false),
        at_time + CASE WHEN ttl >= 0 THEN ttl END, of_version, of_tags)
      ON CONFLICT (locator) DO NOTHING
      RETURNING id INTO run_number;`;

/** What comes with a batch: the beginning of a chapter, names of blobs, the ancestors that a fork reads, tags. */
const rest = (schema: string): string => `
  IF at_chapter = at_position AND at_position > 0 THEN
    INSERT INTO ${schema}.chapters (run, position) VALUES (run_number, at_position);
  END IF;
  IF at_chapter IS NOT NULL AND at_position > 0 THEN
    UPDATE ${schema}.runs SET chapter = at_chapter WHERE id = run_number AND chapter IS DISTINCT FROM at_chapter;
  END IF;
  IF cardinality(names) > 0 THEN
    INSERT INTO ${schema}.named (run, name, position)
      SELECT run_number, b.name, at_position FROM unnest(names) AS b (name)
      WHERE NOT EXISTS (SELECT FROM ${schema}.named k
        WHERE k.run = run_number AND k.name = b.name AND k.position >= coalesce(at_chapter, 0));
  END IF;
  IF at_position = 0 AND line <> '[]' THEN
    INSERT INTO ${schema}.readers (ancestor, reader, reads_from)
      SELECT r.id, run_number, coalesce((reads::json ->> (a.n - 1)::int)::int, 0)
      FROM (SELECT value AS locator, min(ordinality) AS n
            FROM json_array_elements_text(line::json) WITH ORDINALITY GROUP BY value) AS a
      JOIN ${schema}.runs r ON r.locator = a.locator;
  END IF;${keepTags(schema)}`;

/** Adds the first batch of a run, or one with blobs, or one in a chapter. It is checked before anything is written. */
const appendWhole = (schema: string): string => `
CREATE FUNCTION ${schema}.append_whole(${common(false)}, at_chapter int, of_run text, of_workflow text,
  of_label text, of_parent text, reads text, impossible boolean, of_version text, of_tags text, new_tags boolean,
  names text[], bodies text[]
) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
  run_number bigint;
  reason text;
  missing text[];
  before text;
BEGIN
  IF impossible OR cardinality(names) > 0 OR (at_position = 0 AND line <> '[]') THEN
    PERFORM FROM ${schema}.runs WHERE locator = at_locator FOR UPDATE;
    reason := ${schema}.refusal(at_locator, at_position, at_created, line);
    IF reason IS NULL AND at_position = 0 AND line <> '[]' THEN
      reason := ${schema}.read_ancestors(line, reads);
    END IF;
    IF reason IS NULL AND impossible THEN reason := 'blob'; END IF;
    IF reason IS NULL AND cardinality(names) > 0 THEN
      missing := ${schema}.keep_blobs(names, bodies);
      IF cardinality(missing) > 0 THEN reason := 'blob' || to_json(missing)::text; END IF;
    END IF;
    IF reason IS NOT NULL THEN RETURN reason; END IF;
  END IF;
  IF at_position = 0 THEN${create(schema)}
  ELSE${growSlotted(schema)}
  END IF;
  IF run_number IS NULL THEN
    RETURN coalesce(${schema}.refusal(at_locator, at_position, at_created, line), 'moved');
  END IF;
  INSERT INTO ${schema}.batches (run, position, body) VALUES (run_number, at_position, batch);${rest(schema)}
  RETURN NULL;
END $$;
`;

/** Called with the reply of any function that appends, so that an append without a report costs no more. */
const reported = (schema: string): string => `
CREATE FUNCTION ${schema}.reported(reason text, of_locator text, of_report text) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  IF reason IS NULL THEN UPDATE ${schema}.runs SET report = of_report WHERE locator = of_locator; END IF;
  RETURN reason;
END $$;
`;

/** The same for what the head says beside its columns. */
const marked = (schema: string): string => `
CREATE FUNCTION ${schema}.marked(reason text, of_locator text, of_marks text, of_time float8) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  IF reason IS NULL THEN
    UPDATE ${schema}.runs SET marks = of_marks, waits_at = of_time WHERE locator = of_locator;
  END IF;
  RETURN reason;
END $$;
`;

export const appendFunctions = (schema: string): string =>
  [refusal, blobs, ancestors, appendPlain, appendWhole, reported, marked]
    .map((text) => text(schema))
    .join("");
