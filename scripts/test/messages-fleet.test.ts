/** The long test of messages in small, with real processes that are killed. */
import { expect, inject, onTestFinished, test } from "vitest";
import { sendMany } from "../fleet/messages.ts";
import { placeOf } from "../fleet/storage.ts";

test(
  "messages of several processes are read once, in the order of their sender",
  { timeout: 300_000 },
  async () => {
    const place = await placeOf("sqlite");
    onTestFinished(() => place.close());
    // Each is a process, and so is the one after a kill.
    const [runs, messages, senders, kills, killEveryMs] = inject("full")
      ? [40, 3_200, 4, 4, 700]
      : [6, 240, 2, 2, 300];
    const report = await sendMany(place, {
      runs,
      messages,
      senders,
      workers: 2,
      kills,
      killEveryMs,
      patienceMs: 200_000,
    });
    expect(report.wrong).toEqual([]);
    expect(report).toMatchObject({ completed: runs });
    expect(report.kills).toBeGreaterThan(0);
  },
);
