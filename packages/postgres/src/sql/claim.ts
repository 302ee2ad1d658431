/**
 * Claims of due runs, with the rules of `ports/claim-order.ts` in @durable/core: workflows in turn, keys of `fair` in turn,
 * then by the time since when a run is due.
 *
 * claim-sql.1. A claim takes no lock that others wait for. Candidates are found without locks, more than are asked for, and
 *     the first that no other claim has locked are taken. Whether a slot is free is decided by the lease.
 * claim-sql.2. A claim costs what it takes: it goes from one key, or slot, with due runs to the next, and reads a bounded
 *     number of runs whose slots are taken. Runs that are asleep cost nothing.
 * claim-sql.3. A claim needs no wait for the disk: without it, the runs are claimed again.
 */

import { clock, planned } from "./clock.ts";
import { until } from "./due.ts";

const isWaiting = "r.wake_at IS NOT NULL AND NOT r.asleep AND NOT r.held AND NOT r.deleted";
const isOfVersion = "(versions IS NULL OR r.version = ANY (versions))";
const hasDied = "coalesce(r.process = ANY (dead), false)";
const weight = "coalesce((r.flow::json ->> 'weight')::int, 1)";

/** What is asked of runs that wait. */
interface Waiting {
  readonly columns: string;
  readonly where: string;
  readonly order: string;
  readonly limit: string;
}

/** Runs that wait, of any version or of each of some: those of one version have an index of their own. */
function waitingRuns(schema: string, { columns, where, order, limit }: Waiting): string {
  const part = (of: string): string =>
    `(SELECT ${columns} FROM ${schema}.runs r WHERE ${of} AND ${where} AND r.wake_at <= due_at AND ${isWaiting}
        ORDER BY ${order} LIMIT ${limit})`;
  return `${part("versions IS NULL")}
      UNION ALL
      (SELECT o.* FROM unnest(versions) AS v (version) CROSS JOIN LATERAL ${part("r.version = v.version")} AS o)`;
}

/** Runs whose time has come are asleep no longer. Runs that another claim wakes up are left to it. */
const wakeUp = (schema: string): string => `
CREATE FUNCTION ${schema}.wake_up(workflows text[], due_at float8) RETURNS void
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  found bigint[] := ARRAY(
    SELECT s.id FROM unnest(workflows) AS w (name) CROSS JOIN LATERAL (
      SELECT r.id FROM ${schema}.runs r WHERE r.workflow = w.name AND r.wake_at <= due_at
        AND r.wake_at IS NOT NULL AND r.asleep AND NOT r.held AND NOT r.deleted
      ORDER BY r.wake_at, r.id LIMIT 1000
    ) AS s);
BEGIN
  IF cardinality(found) = 0 THEN RETURN; END IF;
  found := ARRAY(SELECT r.id FROM ${schema}.runs r WHERE r.id = ANY (found) FOR UPDATE SKIP LOCKED);
  UPDATE ${schema}.runs r SET asleep = false
    WHERE r.id = ANY (found) AND r.asleep AND r.wake_at <= due_at AND NOT r.held AND NOT r.deleted;
END $$;
`;

/** The next key of `fair` with a run that waits. */
const nextFair = (schema: string, after: string): string =>
  `(SELECT r.fair FROM ${schema}.runs r WHERE r.workflow = of_workflow AND ${after} AND ${isWaiting}
          AND r.wake_at <= due_at AND ${isOfVersion} ORDER BY r.fair LIMIT 1)`;

/** Keys of `fair` that have due runs, from one to the next, at most `wide` of them. */
const keysFrom = (schema: string, first: string, to = ""): string => `ARRAY(
    WITH RECURSIVE k (fair, n) AS (
      (SELECT f.fair, 1 FROM ${nextFair(schema, first)} AS f)
      UNION ALL
      SELECT ${nextFair(schema, "r.fair > k.fair")}, k.n + 1 FROM k WHERE k.fair IS NOT NULL AND k.n < wide
    ) SELECT k.fair FROM k WHERE k.fair IS NOT NULL${to} ORDER BY k.n)`;

/** Due runs whose lease has ended, or whose driver is dead. */
const looseRuns = (schema: string): string => {
  const part = (where: string): string =>
    `(SELECT r.id FROM ${schema}.runs r WHERE r.workflow = of_workflow AND r.wake_at IS NOT NULL AND NOT r.deleted AND r.held
      AND ${where} AND r.wake_at <= due_at AND ${isOfVersion} ORDER BY r.due_order, r.id LIMIT wide)`;
  return `ARRAY(
    ${part(`r.held_until <= at_time AND ${until} <= at_time`)}
    UNION ALL
    ${part(`r.process IS NOT NULL AND r.process = ANY (dead) AND ${until} > at_time`)})`;
};

/** How many runs have each of these slots now, or were claimed for it. */
const slotsTaken = (schema: string, slots: string): string =>
  `SELECT h.slot, count(*) AS used FROM ${schema}.runs h WHERE h.workflow = of_workflow AND h.slot IN (${slots})
      AND h.slot IS NOT NULL AND h.held AND NOT h.deleted
      AND (h.lease_until > at_time OR h.claimed_until > at_time) AND NOT coalesce(h.process = ANY (dead), false)
    GROUP BY h.slot`;

const columns = "r.id, r.due_order, r.slot, r.flow";

/** The first runs of each key, in turns, those left out whose slots are taken. */
const inTurns = (schema: string): string => `
  WITH due AS MATERIALIZED (
    SELECT r.id, r.slot, k.n, ${weight} AS turn, row_number() OVER (PARTITION BY k.n ORDER BY r.due_order, r.id) AS at
    FROM unnest(keys) WITH ORDINALITY AS k (key, n) CROSS JOIN LATERAL (
      ${waitingRuns(schema, { columns, where: "r.workflow = of_workflow AND r.fair = k.key", order: "r.due_order, r.id", limit: "per" })}
      UNION ALL
      (SELECT ${columns} FROM ${schema}.runs r WHERE r.id = ANY (loose) AND r.fair = k.key)
    ) AS r
  ), placed AS (
    SELECT d.id, d.slot, row_number() OVER (ORDER BY CASE
        WHEN d.n > 1 OR turns_left = 0 THEN (d.at - 1) / d.turn
        WHEN d.at <= turns_left THEN 0 ELSE 1 + (d.at - turns_left - 1) / d.turn END, d.n, d.at) AS place
    FROM due d
  ), ranked AS (
    -- Keys may share a slot.
    SELECT p.*, row_number() OVER (PARTITION BY p.slot ORDER BY p.place) AS in_slot FROM placed p
  ), taken AS (
    ${slotsTaken(schema, "SELECT d.slot FROM due d WHERE most_of IS NOT NULL")}
  )
  SELECT ARRAY(SELECT r.id FROM ranked r LEFT JOIN taken t ON t.slot = r.slot
      WHERE most_of IS NULL OR r.slot IS NULL OR r.in_slot <= most_of - coalesce(t.used, 0) ORDER BY r.place LIMIT wide),
    (SELECT max(d.at) FROM due d) INTO found, most_seen;`;

/** Runs of slots that are free, behind those whose slots are taken. Each search begins at another slot. */
const bySlots = (schema: string): string => {
  const next = (after: string): string =>
    `(SELECT r.slot FROM ${schema}.runs r WHERE r.workflow = of_workflow AND r.fair = k.key AND r.slot IS NOT NULL
            AND ${after} AND ${isWaiting} AND r.wake_at <= due_at AND ${isOfVersion} ORDER BY r.slot LIMIT 1)`;
  const walk = (from: string, to = ""): string => `
      (WITH RECURSIVE s (slot, n) AS (
        (SELECT f.slot, 1 FROM ${next(from)} AS f)
        UNION ALL
        SELECT ${next("r.slot > s.slot")}, s.n + 1 FROM s WHERE s.slot IS NOT NULL AND s.n < 2000
      ) SELECT s.slot FROM s WHERE s.slot IS NOT NULL${to})`;
  return `
    found := found || ARRAY(
      WITH slots AS MATERIALIZED (
        SELECT k.key, w.slot FROM unnest(keys[1 : 20]) AS k (key) CROSS JOIN LATERAL (${walk("r.slot > coalesce(from_slot, '')")}
          UNION ALL ${walk("true", " AND s.slot <= coalesce(from_slot, '')")}) AS w
      ), taken AS (
        ${slotsTaken(schema, "SELECT s.slot FROM slots s")}
      ), free AS (
        SELECT s.key, s.slot, most_of - coalesce(t.used, 0) AS places FROM slots s LEFT JOIN taken t ON t.slot = s.slot
        WHERE most_of > coalesce(t.used, 0) LIMIT wide + 50
      )
      SELECT d.id FROM free f CROSS JOIN LATERAL (
        SELECT ${columns} FROM ${schema}.runs r WHERE r.workflow = of_workflow AND r.fair = f.key AND r.slot = f.slot
          AND ${isWaiting} AND r.wake_at <= due_at AND ${isOfVersion}
        ORDER BY r.due_order, r.id LIMIT least(f.places, wide)
      ) AS d WHERE d.id <> ALL (found) ORDER BY d.due_order, d.id LIMIT wide);`;
};

/**
 * The runs of one workflow that a claim may take, in their order. A row without a run says up to which key nothing was
 * found.
 */
const candidates = (schema: string): string => `
CREATE FUNCTION ${schema}.candidates(of_workflow text, most_of int, last_fair text, turns_left int, from_slot text,
  wide int, due_at float8, at_time float8, dead text[], versions text[])
RETURNS TABLE (run bigint, place bigint, passed text)
LANGUAGE plpgsql STABLE ${planned} AS $$
DECLARE
  loose bigint[] := ${looseRuns(schema)};
  keys text[];
  per int;
  most_seen bigint;
  found bigint[];
BEGIN
  IF last_fair IS NULL THEN
    keys := ${keysFrom(schema, "true")};
  ELSE
    keys := ${keysFrom(schema, "r.fair > last_fair")};
    IF turns_left > 0 THEN keys := last_fair || keys; END IF;
    IF cardinality(keys) < wide THEN
      keys := keys || ${keysFrom(schema, "true", " AND k.fair <= last_fair AND (turns_left = 0 OR k.fair < last_fair)")};
    END IF;
  END IF;
  IF cardinality(loose) > 0 THEN
    keys := keys || ARRAY(SELECT DISTINCT r.fair FROM ${schema}.runs r WHERE r.id = ANY (loose) AND r.fair <> ALL (keys));
  END IF;
  IF cardinality(keys) = 0 THEN RETURN; END IF;
  per := CASE WHEN cardinality(keys) > 1 THEN greatest(4, 4 * wide / cardinality(keys))
    WHEN most_of IS NULL THEN wide ELSE wide + 200 END;${inTurns(schema)}
  IF most_of IS NOT NULL AND cardinality(found) < wide AND most_seen >= per THEN${bySlots(schema)}
  END IF;
  RETURN QUERY SELECT f.id, f.n, NULL::text FROM unnest(found) WITH ORDINALITY AS f (id, n);
  IF cardinality(found) = 0 AND cardinality(keys) >= wide THEN
    RETURN QUERY SELECT NULL::bigint, 1::bigint, keys[wide];
  END IF;
END $$;
`;

/** Which runs a claim tries to take, of each workflow in turn, and up to which keys there was nothing to take. */
const choice = (schema: string): string => `
    WITH c AS MATERIALIZED (
      SELECT w.name, w.n, c.* FROM unnest(workflows, most_of, last_fair, turns_left, from_slot) WITH ORDINALITY
          AS w (name, most_of, last_fair, turns_left, from_slot, n)
        CROSS JOIN LATERAL ${schema}.candidates(w.name, w.most_of, w.last_fair, w.turns_left, w.from_slot, wide, due_at,
          at_time, dead, versions) AS c
    )
    SELECT ARRAY(SELECT c.run FROM c WHERE c.run IS NOT NULL ORDER BY c.place, c.n LIMIT wide),
      ARRAY(SELECT c.name FROM c WHERE c.run IS NULL ORDER BY c.n), ARRAY(SELECT c.passed FROM c WHERE c.run IS NULL ORDER BY c.n)
      INTO found, vain_workflows, vain_fairs;
`;

/**
 * A row with the number 0 says up to which key of `fair` a workflow had nothing to take. It tells other processes what it took,
 * with its commit, so that they do not try the same runs; without a word when that would be too long for a notification.
 */
const claim = (schema: string): string => `
CREATE FUNCTION ${schema}.claim(
  workflows text[], most_of int[], last_fair text[], turns_left int[], from_slot text[], due_at float8, most int,
  quiet_ms float8, by_process text, dead text[], given_time float8, versions text[], channel text, sender text
) RETURNS SETOF ${schema}.runs
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
  wide int := 2 * most + 50;
  found bigint[];
  vain ${schema}.runs;
  vain_workflows text[];
  vain_fairs text[];
  taken int := 0;
  more int;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  PERFORM ${schema}.wake_up(workflows, due_at);
  FOR attempt IN 1 .. 3 LOOP
${choice(schema)}    FOR i IN 1 .. CASE WHEN attempt = 1 THEN cardinality(vain_workflows) ELSE 0 END LOOP
      vain.id := 0;
      vain.run_id := vain_workflows[i];
      vain.fair := vain_fairs[i];
      RETURN NEXT vain;
    END LOOP;
    RETURN QUERY
      WITH free AS (
        SELECT r.id AS free_id, c.n
        FROM unnest(found) WITH ORDINALITY AS c (id, n) JOIN ${schema}.runs r ON r.id = c.id
        WHERE r.wake_at <= due_at AND NOT r.deleted AND (NOT r.held OR ${until} <= at_time OR ${hasDied})
        ORDER BY c.n LIMIT most - taken FOR UPDATE OF r SKIP LOCKED
      ), claimed AS (
        UPDATE ${schema}.runs r SET quiet_until = at_time + quiet_ms, lease_until = least(r.lease_until, at_time),
          process = by_process, held = true, held_until = at_time + quiet_ms, asleep = false,
          claimed_until = CASE WHEN r.slot IS NOT NULL THEN at_time + quiet_ms END
        FROM free WHERE r.id = free.free_id RETURNING r.id AS claimed_id, r.locator, free.n
      ), announced AS (
        SELECT CASE WHEN count(*) BETWEEN 1 AND 200 THEN
          pg_notify(channel, json_build_array(sender, '[]'::json, json_agg(locator), by_process)::text)::text END FROM claimed
      )
      SELECT r.* FROM claimed CROSS JOIN announced JOIN ${schema}.runs r ON r.id = claimed.claimed_id ORDER BY claimed.n;
    GET DIAGNOSTICS more = ROW_COUNT;
    taken := taken + more;
    EXIT WHEN taken >= most OR cardinality(found) < wide;
  END LOOP;
END $$;
`;

export const claimFunctions = (schema: string): string =>
  [wakeUp, candidates, claim].map((text) => text(schema)).join("");
