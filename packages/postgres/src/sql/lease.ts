/**
 * Functions for leases, notes and quiet times. None of them waits for the disk, because a lease only saves work. A lease
 * that a crash of the server loses is taken again.
 */

import { heldUntil } from "./append.ts";
import { clock, planned } from "./clock.ts";

const isQuick = "PERFORM set_config('synchronous_commit', 'off', true);";

/**
 * Takes, extends or gives back leases. Returns no row for an unknown run. A row without \`starts\` is a refusal: \`held_by\`
 * is the process that has the lease, so that the caller can check whether it is alive.
 */
const lease = (schema: string): string => `
CREATE FUNCTION ${schema}.lease(
  locators text[], owners text[], ttls float8[], by_process text, dead text[], given_time float8
) RETURNS TABLE (item int, starts_now int, length_now int, note text, held_by text, workflow_of text, due_in float8, took_over boolean)
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
  run ${schema}.runs;
  again boolean;
  since int;
BEGIN
  ${isQuick}
  FOR i IN 1 .. cardinality(locators) LOOP
    SELECT * INTO run FROM ${schema}.runs r WHERE r.locator = locators[i] AND NOT r.deleted FOR NO KEY UPDATE;
    CONTINUE WHEN NOT FOUND;
    item := i;
    starts_now := NULL;
    length_now := run.length;
    note := NULL;
    held_by := NULL;
    workflow_of := NULL;
    due_in := NULL;
    took_over := false;
    again := run.owner IS NOT DISTINCT FROM owners[i];
    IF NOT again AND run.lease_until > at_time AND NOT coalesce(run.process = ANY (dead), false) THEN
      held_by := run.process;
      RETURN NEXT;
      CONTINUE;
    END IF;
    CONTINUE WHEN NOT again AND ttls[i] <= 0;
    since := CASE WHEN run.starts_at = run.length THEN run.starts ELSE 0 END;
    IF ttls[i] <= 0 THEN
      starts_now := greatest(since, 1);
      UPDATE ${schema}.runs r SET starts = starts_now - 1, starts_at = r.length, owner = NULL, process = NULL,
          lease_until = NULL, held = r.quiet_until > at_time,
          held_until = CASE WHEN r.quiet_until > at_time THEN r.quiet_until END
        WHERE r.id = run.id;
      workflow_of := run.workflow;
      due_in := CASE WHEN run.wake_at IS NOT NULL THEN greatest(0, run.wake_at - at_time, run.quiet_until - at_time) END;
    ELSE
      since := CASE WHEN again THEN since ELSE since + 1 END;
      starts_now := greatest(since, 1);
      note := run.blocked;
      took_over := NOT again AND run.owner IS NOT NULL;
      UPDATE ${schema}.runs r SET starts = since, starts_at = r.length, owner = owners[i], process = by_process,
          lease_until = at_time + ttls[i], held = true,
          held_until = CASE WHEN again THEN ${heldUntil("at_time", "ttls[i]", 0.5)}
            ELSE ${heldUntil("at_time", "ttls[i]", 0.1)} END,
          blocked = NULL
        WHERE r.id = run.id;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;
`;

const release = (schema: string): string => `
CREATE FUNCTION ${schema}.release(
  locators text[], owners text[], quiets float8[], given_time float8
) RETURNS TABLE (item int, workflow_of text, due_in float8)
LANGUAGE plpgsql ${planned} AS $$
DECLARE
  at_time float8 := ${clock("given_time")};
BEGIN
  ${isQuick}
  FOR i IN 1 .. cardinality(locators) LOOP
    UPDATE ${schema}.runs r SET starts = 0, owner = NULL, process = NULL, lease_until = NULL,
        quiet_until = at_time + quiets[i], held = quiets[i] > 0,
        held_until = CASE WHEN quiets[i] > 0 THEN at_time + quiets[i] END
      WHERE r.locator = locators[i] AND r.owner = owners[i]
      RETURNING i, r.workflow, CASE WHEN r.wake_at IS NOT NULL THEN greatest(0, r.wake_at - at_time, r.quiet_until - at_time) END
        INTO item, workflow_of, due_in;
    IF FOUND THEN RETURN NEXT; END IF;
  END LOOP;
END $$;
`;

const note = (schema: string): string => `
CREATE FUNCTION ${schema}.note(of_locator text, text_of text, at_length int) RETURNS void
LANGUAGE plpgsql ${planned} AS $$
BEGIN
  ${isQuick}
  UPDATE ${schema}.runs r SET blocked = text_of WHERE r.locator = of_locator AND NOT r.deleted AND r.length = at_length;
END $$;
`;

/** A notification alone needs no wait for the disk, and so keeps the lock that all of them share for a short time. */
const notify = (schema: string): string => `
CREATE FUNCTION ${schema}.notify(channel text, payload text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  ${isQuick}
  PERFORM pg_notify(channel, payload);
END $$;
`;

export const leaseFunctions = (schema: string): string =>
  [lease, release, note, notify].map((text) => text(schema)).join("");
