import { DatabaseSync } from "node:sqlite";
import { createApp, durable, type App } from "@durable/core";
import { expect, test } from "vitest";
import { runsObject, type ObjectState } from "../src/index.ts";

/** The state of an object: its SQLite is that of Node, and its alarm is only noted. */
function fakeState(): { readonly state: ObjectState; readonly alarm: () => number | null } {
  const file = new DatabaseSync(":memory:");
  let alarm: number | null = null;
  const state: ObjectState = {
    storage: {
      sql: {
        exec: (query, ...bindings) => {
          const rows = file.prepare(query).all(...bindings);
          return { toArray: () => rows };
        },
      },
      transactionSync: (work) => work(),
      getAlarm: () => Promise.resolve(alarm),
      setAlarm: (time) => Promise.resolve(void (alarm = time)),
      deleteAlarm: () => Promise.resolve(void (alarm = null)),
    },
    waitUntil: () => {},
  };
  return { state, alarm: () => alarm };
}

test("a run that stays due does not keep the others from waking to the second", async () => {
  const { state, alarm } = fakeState();
  const nap = durable("nap", (ctx, forMs: number) => ctx.sleep(forMs));
  const Runs = runsObject<object>({
    app: (host) => {
      const app = createApp({ ...host, secret: "a secret for tests, of no worth", workflows: [nap] });
      // As if no run could be driven, such as with a key of encryption that is not there.
      return { ...app, sweep: () => Promise.resolve({ advanced: [], failed: [] }) } as unknown as App;
    },
    fetch: async (app, request) => {
      const [id = "", ms] = new URL(request.url).pathname.slice(1).split("/");
      await app.run("nap", Number(ms), { id });
      return new Response("ok");
    },
  });
  const object = new Runs(state, {});
  const post = (path: string): Promise<Response> =>
    object.fetch(new Request(`http://object/${path}`, { method: "POST" }));
  await post("stuck/100");
  await new Promise((resolve) => void setTimeout(resolve, 110));
  let before = 0;
  for (let alarms = 0; alarms < 10; alarms++) {
    before = Date.now();
    await object.alarm();
  }
  expect(alarm(), "tried again more and more slowly").toBeGreaterThanOrEqual(before + 60_000);
  await post("other/50000");
  const woken = Date.now() + 50_000;
  expect(alarm()).toBeLessThanOrEqual(woken);
  await object.alarm();
  expect(alarm()).toBeLessThanOrEqual(woken);
});
