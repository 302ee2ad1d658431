/**
 * Limits of runs, and the texts of `storage.limits`.
 *
 * limits-sql.1. A run has its slot exactly as long as its lease is live. Slots are counted and taken under a lock of the
 *     slot, which is held until the commit. Locks of one statement are taken in one order.
 * limits-sql.2. An append extends a live lease of a run with a slot, and no expired one. A lease ends the expired leases of
 *     its slot, so that an append that began earlier cannot extend them.
 * limits-sql.3. For a claim, a run that was claimed has its slot, too. A claim takes no lock: the lease decides.
 * limits-sql.4. A singleton is looked up under a lock of its text, which is held until the commit.
 * limits-sql.5. A lock is that of a row, so that only roles with rights to the tables can hold one. Any role of the database
 *     can take an advisory lock, for as long as it likes.
 */

import { clock, planned } from "./clock.ts";
import { claimFunctions } from "./claim.ts";

const isQuick = "PERFORM set_config('synchronous_commit', 'off', true);";

/** How many rows locks share: few enough to stay small, and too many for two names of a group to meet often. */
const lockRows = 2 ** 20;

/** Waits until no other transaction has the lock of a name. Rows are made when they are first needed, and stay. */
const locks = (schema: string): string => `
CREATE UNLOGGED TABLE ${schema}.locks (key bigint PRIMARY KEY);

CREATE FUNCTION ${schema}.lock_name(of_name text) RETURNS void
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_key bigint := hashtextextended(of_name, 0) & ${lockRows - 1};
BEGIN
  PERFORM FROM ${schema}.locks l WHERE l.key = at_key FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO ${schema}.locks VALUES (at_key) ON CONFLICT DO NOTHING;
    PERFORM FROM ${schema}.locks l WHERE l.key = at_key FOR UPDATE;
  END IF;
END $$;
`;

/** An append that records what the head says about limits. */
const append = (schema: string): string => `
CREATE FUNCTION ${schema}.append_flow(
  at_locator text, at_position int, batch text, at_created float8, at_updated float8, at_steps int, at_order float8,
  by_owner text, ttl float8, by_process text, at_status text, at_wake float8, line text, given_time float8, at_chapter int, of_run text,
  of_workflow text, of_label text, of_parent text, reads text, impossible boolean, of_version text, of_tags text, new_tags boolean,
  names text[], bodies text[], of_flow text, of_slot text, of_singleton text, of_fair text
) RETURNS text
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  reason text;
BEGIN
  -- What is recorded after the end of a run, such as a score, begins nothing.
  IF of_singleton IS NOT NULL AND (at_position = 0 OR at_status IN ('running', 'suspended', 'paused')) THEN
    PERFORM ${schema}.lock_name('singleton ' || of_workflow || ' ' || of_singleton);
    -- The run begins, or goes on after its end.
    IF NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.locator = at_locator
        AND (at_position = 0 OR r.status IN ('running', 'suspended', 'paused'))) THEN
      SELECT r.run_id INTO reason FROM ${schema}.runs r WHERE r.workflow = of_workflow AND r.singleton = of_singleton
        AND r.singleton IS NOT NULL AND r.status IN ('running', 'suspended', 'paused') AND NOT r.deleted LIMIT 1;
      IF FOUND THEN RETURN 'singleton' || reason; END IF;
    END IF;
  END IF;
  reason := ${schema}.append_whole(at_locator, at_position, batch, at_created, at_updated, at_steps, at_order, by_owner, ttl,
    by_process, at_status, at_wake, line, given_time, at_chapter, of_run, of_workflow, of_label, of_parent, reads,
    impossible, of_version, of_tags, new_tags, names, bodies);
  IF reason IS NULL THEN
    UPDATE ${schema}.runs r SET flow = of_flow, slot = of_slot, singleton = of_singleton, fair = of_fair
      WHERE r.locator = at_locator;
  END IF;
  RETURN reason;
END $$;
`;

/**
 * Ends the expired leases of a slot before it is counted. An append of such a driver that is on its way finds that its
 * lease is gone, whatever the time was when it began.
 */
const expire = (schema: string): string => `
CREATE FUNCTION ${schema}.expire_slots(of_workflow text, of_slot text, but bigint, at_time float8) RETURNS void
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  UPDATE ${schema}.runs r SET owner = NULL, lease_until = NULL,
      process = CASE WHEN r.claimed_until > at_time THEN r.process END, held = r.quiet_until > at_time,
      held_until = CASE WHEN r.quiet_until > at_time THEN r.quiet_until END
    WHERE r.workflow = of_workflow AND r.slot = of_slot AND r.slot IS NOT NULL AND r.held AND NOT r.deleted AND r.id <> but
      AND r.owner IS NOT NULL AND r.lease_until <= at_time;
END $$;
`;

/** How many runs other than this one have a slot, and not a dead driver. */
const taken = (schema: string): string => `
CREATE FUNCTION ${schema}.slots_taken(
  of_workflow text, of_slot text, but bigint, dead text[], at_time float8
) RETURNS int
LANGUAGE sql ${planned} AS $$
  SELECT count(*)::int FROM ${schema}.runs r
  WHERE r.workflow = of_workflow AND r.slot = of_slot AND r.slot IS NOT NULL AND r.held AND NOT r.deleted AND r.id <> but
    AND r.lease_until > at_time
    AND NOT coalesce(r.process = ANY (dead), false)
$$;
`;

/** Like \`lease\`, for runs that may have a slot. A row with \`is_full\` grants nothing. */
const lease = (schema: string): string => `
CREATE FUNCTION ${schema}.lease_slots(
  of_locator text, of_owner text, ttl float8, by_process text, dead text[], given_time float8,
  limited text[], most int[]
) RETURNS TABLE (item int, starts_now int, length_now int, note text, held_by text, workflow_of text, due_in float8,
  took_over boolean, is_full boolean)
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
  run ${schema}.runs;
  place int;
BEGIN
  ${isQuick}
  SELECT * INTO run FROM ${schema}.runs r WHERE r.locator = of_locator AND NOT r.deleted;
  place := CASE WHEN run.slot IS NOT NULL AND ttl > 0 THEN array_position(limited, run.workflow) END;
  IF place IS NOT NULL THEN
    PERFORM ${schema}.lock_name('slot ' || run.workflow || ' ' || run.slot);
    PERFORM ${schema}.expire_slots(run.workflow, run.slot, run.id, at_time);
    SELECT * INTO run FROM ${schema}.runs r WHERE r.locator = of_locator AND NOT r.deleted FOR NO KEY UPDATE;
    IF FOUND AND NOT (run.owner IS NOT DISTINCT FROM of_owner AND coalesce(run.lease_until > at_time, false))
      AND NOT (run.owner IS DISTINCT FROM of_owner AND coalesce(run.lease_until > at_time, false)
        AND NOT coalesce(run.process = ANY (dead), false))
      AND ${schema}.slots_taken(run.workflow, run.slot, run.id, dead, at_time) >= most[place] THEN
      -- Its claim is over: it is due again, once a slot is free.
      UPDATE ${schema}.runs r SET claimed_until = NULL, quiet_until = 0, held = r.lease_until IS NOT NULL,
          held_until = r.lease_until
        WHERE r.id = run.id AND r.claimed_until IS NOT NULL;
      RETURN QUERY SELECT 1, NULL::int, run.length, NULL::text, NULL::text, NULL::text, NULL::float8, false, true;
      RETURN;
    END IF;
    UPDATE ${schema}.runs r SET claimed_until = NULL WHERE r.id = run.id AND r.claimed_until IS NOT NULL;
  END IF;
  RETURN QUERY SELECT l.*, false FROM ${schema}.lease(ARRAY[of_locator], ARRAY[of_owner], ARRAY[ttl], by_process,
    dead, given_time) AS l;
END $$;
`;

/** Replaces a text if it is still the one that the caller has read. Needs no wait for the disk: a crash frees limits. */
const swap = (schema: string): string => `
CREATE FUNCTION ${schema}.swap_text(of_name text, before text, after text, keep_ms float8, given_time float8)
RETURNS boolean
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
BEGIN
  ${isQuick}
  DELETE FROM ${schema}.limit_texts t WHERE t.name = of_name AND t.until <= at_time;
  IF before IS NULL THEN
    INSERT INTO ${schema}.limit_texts VALUES (of_name, after, at_time + keep_ms) ON CONFLICT (name) DO NOTHING;
    IF NOT FOUND THEN RETURN false; END IF;
    DELETE FROM ${schema}.limit_texts t WHERE t.name IN (
      SELECT o.name FROM ${schema}.limit_texts o WHERE o.until <= at_time LIMIT 8 FOR UPDATE SKIP LOCKED);
    RETURN true;
  END IF;
  UPDATE ${schema}.limit_texts t SET value = after, until = at_time + keep_ms WHERE t.name = of_name AND t.value = before;
  RETURN FOUND;
END $$;
`;

export const limitFunctions = (schema: string): string =>
  [locks, append, expire, taken, lease, swap, claimFunctions].map((text) => text(schema)).join("");

/** What is taken and waits, of all runs that have a slot. */
export const slotUseText = (schema: string): string => {
  const now = clock("$1::float8");
  return `
  SELECT s.workflow, s.slot, sum(s.taken)::int AS taken, sum(s.waiting)::int AS waiting FROM (
    SELECT r.workflow, r.slot, coalesce(r.lease_until > ${now}, false)::int AS taken,
        (NOT coalesce(r.lease_until > ${now}, false) AND coalesce(r.wake_at <= ${now}, false))::int AS waiting
      FROM ${schema}.runs r WHERE r.slot IS NOT NULL AND r.held AND NOT r.deleted
    UNION ALL
    SELECT r.workflow, r.slot, 0, 1 FROM ${schema}.runs r
      WHERE r.slot IS NOT NULL AND r.wake_at IS NOT NULL AND NOT r.asleep AND NOT r.held AND NOT r.deleted
    UNION ALL
    SELECT r.workflow, r.slot, 0, 1 FROM ${schema}.runs r
      WHERE r.slot IS NOT NULL AND r.wake_at <= ${now} AND r.wake_at IS NOT NULL AND r.asleep AND NOT r.held AND NOT r.deleted
  ) AS s GROUP BY s.workflow, s.slot ORDER BY s.workflow, s.slot`;
};
