/**
 * Claims of due runs, with the rules of `ports/claim-order.ts` in @durable/core: workflows in turn, keys of `fair` in turn,
 * then by the time since when a run is due.
 *
 * claim-sql.1. A claim takes no lock that others wait for. Candidates are found without locks, more than are asked for, and
 *     the first that no other claim has locked are taken. Whether a slot is free is decided by the lease.
 * claim-sql.2. A claim costs what it takes: it goes from one key, or slot, with due runs to the next, and looks at a bounded
 *     number of runs whose slots are taken. Runs that are asleep cost nothing.
 * claim-sql.3. A claim needs no wait for the disk: without it, the runs are claimed again.
 */

import { clock, planned } from "./append.ts";
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

/** Runs whose time has come are asleep no longer. Those that another claim wakes up are left to it. */
const wakeUp = (schema: string): string => `
CREATE FUNCTION ${schema}.wake_up_1(workflows text[], due_at float8) RETURNS void
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

/** The arguments that the functions below share. */
const shared = "due_at float8, at_time float8, dead text[], versions text[], loose bigint[]";
const passed = "due_at, at_time, dead, versions, loose";

/** The next key of `fair` that has a due run; `loose` are due runs that are held by nobody who is alive. */
const nextFair = (schema: string): string => `
CREATE FUNCTION ${schema}.next_fair_1(of_workflow text, after text, ${shared}) RETURNS text
LANGUAGE sql STABLE ${planned} AS $$
  SELECT min(n.fair COLLATE "C") FROM (
    ${waitingRuns(schema, { columns: "r.fair", where: "r.workflow = of_workflow AND r.fair > after", order: "r.fair", limit: "1" })}
    UNION ALL
    SELECT r.fair FROM ${schema}.runs r WHERE r.id = ANY (loose) AND r.fair > after
  ) AS n
$$;
`;

/** Runs of one key that wait, in their order. */
const ofKey = (schema: string, limit: string, and = ""): string =>
  waitingRuns(schema, {
    columns: "r.id, r.due_order, r.slot, r.flow",
    where: `r.workflow = of_workflow AND r.fair = of_fair${and}`,
    order: "r.due_order, r.id",
    limit,
  });

/** Slots of one key that have due runs, from one to the next, and how many places each has. */
function slotsOfKey(schema: string, from: string, to: string): string {
  const next = (after: string): string => `
          (SELECT r.slot FROM ${schema}.runs r WHERE r.workflow = of_workflow AND r.fair = of_fair AND r.slot IS NOT NULL
            AND ${after} AND ${isWaiting} AND r.wake_at <= due_at AND ${isOfVersion} ORDER BY r.slot LIMIT 1)`;
  return `
        WITH RECURSIVE next (slot) AS (
          ${next(from)}
          UNION ALL
          SELECT ${next("r.slot > next.slot")} FROM next WHERE next.slot IS NOT NULL
        ) SELECT n.slot, most_of - ${schema}.slots_taken_1(of_workflow, n.slot, 0, true, dead, at_time) AS places
          FROM next n WHERE n.slot IS NOT NULL${to}`;
}

/** The runs of one key in their order, at most `most` of them; with `most_of`, those that have a free slot. */
const lane = (schema: string): string => {
  const found = (limit: string, and?: string): string => ofKey(schema, limit, and);
  return `
CREATE FUNCTION ${schema}.lane_1(of_workflow text, of_fair text, most int, most_of int, look int, from_slot text, ${shared})
RETURNS TABLE (id bigint, due_order float8, slot text, turn int)
LANGUAGE plpgsql STABLE ${planned} AS $$
DECLARE
  free_slots text[];
  free_places int[];
  many int;
  fit int;
BEGIN
  IF most_of IS NULL THEN
    RETURN QUERY SELECT r.id, r.due_order, r.slot, ${weight} FROM (${found("most")}
      UNION ALL
      (SELECT r.id, r.due_order, r.slot, r.flow FROM ${schema}.runs r WHERE r.id = ANY (loose) AND r.fair = of_fair)
    ) AS r ORDER BY r.due_order, r.id LIMIT most;
    RETURN;
  END IF;
  WITH first AS MATERIALIZED (${found("look")}
      UNION ALL
      (SELECT r.id, r.due_order, r.slot, r.flow FROM ${schema}.runs r WHERE r.id = ANY (loose) AND r.fair = of_fair)
  ), slots AS (
    SELECT s.slot, most_of - ${schema}.slots_taken_1(of_workflow, s.slot, 0, true, dead, at_time) AS places
      FROM (SELECT DISTINCT f.slot FROM first f WHERE f.slot IS NOT NULL) AS s
  ), ranked AS (
    SELECT f.slot, row_number() OVER (PARTITION BY f.slot ORDER BY f.due_order, f.id) AS n FROM first f
  ) SELECT (SELECT array_agg(s.slot) FROM slots s WHERE s.places > 0),
      (SELECT array_agg(s.places) FROM slots s WHERE s.places > 0),
      count(*), count(*) FILTER (WHERE r.slot IS NULL OR r.n <= s.places)
    INTO free_slots, free_places, many, fit FROM ranked r LEFT JOIN slots s USING (slot);
  IF fit < most AND many >= look THEN
    -- Runs whose slots are taken stand in front: look at slots instead, from another one each time.
    SELECT array_agg(s.slot), array_agg(s.places) INTO free_slots, free_places FROM (
      SELECT * FROM (${slotsOfKey(schema, "r.slot > coalesce(from_slot, '')", "")}) AS a WHERE a.places > 0
      UNION ALL
      SELECT * FROM (${slotsOfKey(schema, "true", " AND n.slot <= coalesce(from_slot, '')")}) AS b WHERE b.places > 0
      LIMIT most + 50
    ) AS s;
  END IF;
  RETURN QUERY SELECT r.id, r.due_order, r.slot, ${weight} FROM (
    SELECT f.* FROM unnest(free_slots, free_places) AS s (slot, places) CROSS JOIN LATERAL (
      SELECT c.* FROM (${found("least(s.places, most)", " AND r.slot = s.slot AND r.slot IS NOT NULL")}) AS c
      ORDER BY c.due_order, c.id LIMIT least(s.places, most)) AS f
    UNION ALL
    SELECT f.* FROM (${found("most", " AND r.slot IS NULL")}) AS f
    UNION ALL
    SELECT r.id, r.due_order, r.slot, r.flow FROM ${schema}.runs r WHERE r.id = ANY (loose) AND r.fair = of_fair
  ) AS r ORDER BY r.due_order, r.id LIMIT most;
END $$;
`;
};

/**
 * The runs of one workflow that a claim may take, in the order of `round` and `place`. A row without a run says up to which
 * key nothing was found.
 */
const candidates = (schema: string): string => `
CREATE FUNCTION ${schema}.candidates_1(of_workflow text, most_of int, last_fair text, turns_left int, from_slot text,
  wide int, due_at float8, at_time float8, dead text[], versions text[])
RETURNS TABLE (run bigint, round int, place int, passed text)
LANGUAGE plpgsql STABLE ${planned} AS $$
DECLARE
  loose bigint[] := ARRAY(
    (SELECT r.id FROM ${schema}.runs r WHERE r.workflow = of_workflow AND r.wake_at IS NOT NULL AND NOT r.deleted AND r.held
      AND r.held_until <= at_time AND ${until} <= at_time AND r.wake_at <= due_at AND ${isOfVersion}
      ORDER BY r.due_order, r.id LIMIT wide)
    UNION ALL
    (SELECT r.id FROM ${schema}.runs r WHERE r.workflow = of_workflow AND r.wake_at IS NOT NULL AND NOT r.deleted AND r.held
      AND r.process IS NOT NULL AND r.process = ANY (dead) AND ${until} > at_time AND r.wake_at <= due_at AND ${isOfVersion}
      ORDER BY r.due_order, r.id LIMIT wide));
  first_key text;
  key text;
  keys text[] := '{}';
  per int := 8;
  total int;
BEGIN
  first_key := CASE WHEN EXISTS (
      ${waitingRuns(schema, { columns: "r.id", where: "r.workflow = of_workflow AND r.fair = ''", order: "r.due_order", limit: "1" })})
    OR EXISTS (SELECT FROM ${schema}.runs r WHERE r.id = ANY (loose) AND r.fair = '')
    THEN '' ELSE ${schema}.next_fair_1(of_workflow, '', ${passed}) END;
  IF first_key IS NULL THEN RETURN; END IF;
  key := ${schema}.next_fair_1(of_workflow, first_key, ${passed});
  IF key IS NULL THEN
    RETURN QUERY SELECT l.id, row_number() OVER (ORDER BY l.due_order, l.id)::int, 0, NULL::text
      FROM ${schema}.lane_1(of_workflow, first_key, wide, most_of, wide + 200, from_slot, ${passed}) AS l;
    RETURN;
  END IF;
  IF turns_left > 0 THEN keys := ARRAY[last_fair]; END IF;
  key := CASE WHEN last_fair IS NULL THEN first_key ELSE ${schema}.next_fair_1(of_workflow, last_fair, ${passed}) END;
  WHILE key IS NOT NULL AND cardinality(keys) < wide LOOP
    keys := keys || key;
    key := ${schema}.next_fair_1(of_workflow, key, ${passed});
  END LOOP;
  key := first_key;
  WHILE cardinality(keys) < wide AND key < last_fair OR (key = last_fair AND turns_left = 0) LOOP
    keys := keys || key;
    key := ${schema}.next_fair_1(of_workflow, key, ${passed});
  END LOOP;
  LOOP
    SELECT count(*) INTO total FROM unnest(keys) AS k (key) CROSS JOIN LATERAL
      (SELECT FROM ${schema}.lane_1(of_workflow, k.key, per, most_of, per, from_slot, ${passed})) AS l;
    EXIT WHEN total >= wide OR per >= wide OR total < per;
    per := wide;
  END LOOP;
  RETURN QUERY SELECT c.id, c.round::int, c.place::int, NULL::text FROM (
    SELECT l.id, k.n AS place, CASE WHEN k.n = 1 AND turns_left > 0
        THEN CASE WHEN l.at <= turns_left THEN 0 ELSE 1 + (l.at - turns_left - 1) / l.turn END
        ELSE (l.at - 1) / l.turn END AS round, l.at
    FROM unnest(keys) WITH ORDINALITY AS k (key, n) CROSS JOIN LATERAL (
      SELECT l.id, l.turn, row_number() OVER (ORDER BY l.due_order, l.id) AS at
      FROM ${schema}.lane_1(of_workflow, k.key, per, most_of, per, from_slot, ${passed}) AS l
    ) AS l
  ) AS c ORDER BY c.round, c.place, c.at;
  IF total = 0 THEN RETURN QUERY SELECT NULL::bigint, 0, 0, keys[cardinality(keys)]; END IF;
END $$;
`;

/** Which runs a claim tries to take, in its order, and up to which keys there was nothing to take. */
const choice = (schema: string): string => `    WITH c AS MATERIALIZED (
      SELECT w.name, w.n, w.most_of, c.run, c.passed, r.slot,
        row_number() OVER (PARTITION BY w.n ORDER BY c.round, c.place, r.due_order, c.run) AS at
      FROM unnest(workflows, most_of, last_fair, turns_left, from_slot) WITH ORDINALITY
          AS w (name, most_of, last_fair, turns_left, from_slot, n)
        CROSS JOIN LATERAL ${schema}.candidates_1(w.name, w.most_of, w.last_fair, w.turns_left, w.from_slot, wide, due_at,
          at_time, dead, versions) AS c LEFT JOIN ${schema}.runs r ON r.id = c.run
    ), ranked AS (
      -- Keys of fair may share a slot.
      SELECT c.*, row_number() OVER (PARTITION BY c.name, c.slot ORDER BY c.at) AS in_slot FROM c WHERE c.run IS NOT NULL
    ), slots AS (
      SELECT s.name, s.slot, s.most_of - ${schema}.slots_taken_1(s.name, s.slot, 0, true, dead, at_time) AS places
      FROM (SELECT DISTINCT d.name, d.slot, d.most_of FROM ranked d WHERE d.slot IS NOT NULL AND d.most_of IS NOT NULL) AS s
    )
    SELECT ARRAY(SELECT f.run FROM ranked f LEFT JOIN slots s ON s.name = f.name AND s.slot = f.slot
        WHERE s.places IS NULL OR f.in_slot <= s.places ORDER BY f.at, f.n LIMIT wide),
      ARRAY(SELECT c.name FROM c WHERE c.run IS NULL ORDER BY c.n), ARRAY(SELECT c.passed FROM c WHERE c.run IS NULL ORDER BY c.n)
      INTO found, vain_workflows, vain_fairs;
`;

/** A row with the number 0 says up to which key of `fair` a workflow had nothing to take. */
const claim = (schema: string): string => `
CREATE FUNCTION ${schema}.claim_1(
  workflows text[], most_of int[], last_fair text[], turns_left int[], from_slot text[], due_at float8, most int,
  quiet_ms float8, by_process text, dead text[], given_time float8, versions text[]
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
  PERFORM ${schema}.wake_up_1(workflows, due_at);
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
        FROM free WHERE r.id = free.free_id RETURNING r.id AS claimed_id, free.n
      )
      SELECT r.* FROM claimed JOIN ${schema}.runs r ON r.id = claimed.claimed_id ORDER BY claimed.n;
    GET DIAGNOSTICS more = ROW_COUNT;
    taken := taken + more;
    EXIT WHEN taken >= most OR cardinality(found) < wide;
  END LOOP;
END $$;
`;

export const claimFunctions = (schema: string): string =>
  [wakeUp, nextFair, lane, candidates, claim].map((text) => text(schema)).join("");
