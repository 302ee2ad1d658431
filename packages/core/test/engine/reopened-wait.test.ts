import { createApp, durable, type App, type Context } from "@durable/core";
import { expect, test } from "vitest";
import { hooked, kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import type { Flow } from "../support/behaviour-lives.ts";

const hour = 3_600_000;

/** A wait for an hour beside something else; then another wait. */
const flow = (beside: (ctx: Context) => unknown): Flow =>
  durable("race", async (ctx) => {
    const { name, value } = await ctx.race({
      ask: (c) => c.suspend("ok", { timeout: "1h", fallback: "late" }),
      beside,
    });
    return [name, value, await ctx.suspend("end")];
  });

/** A wait of run `r` that was answered and closed, and that other code has opened again. */
async function reopened(): Promise<{ on: Lab; app: App; token: string }> {
  const on = lab();
  const first = flow((c) => c.step("work", () => pause(on.world, 5_000)));
  const app = createApp({ ...on, workflows: [first] });
  // The token is the same in a run of the same id that parks at the wait.
  const twin = lab();
  const waits = flow((c) => c.suspend("never")).with({ ...twin });
  const token = tokenOf(await twin.world.run(waits.run(undefined, { id: "r" })), "race[ask]/ok");
  // The answer comes when the result of the step is durable, and its driver does not know that yet.
  let appends = 0;
  const storage = hooked(on.storage, async (operation, moment) => {
    if (operation === "append" && moment === "after" && ++appends === 3)
      expect((await app.resume(token, "yes", { drive: false })).status).toBe("accepted");
  });
  await on.world.run(first.with({ ...on, storage }).run(undefined, { id: "r" }));
  const kinds = await kindsOf(app.get("r"));
  expect(kinds.filter((kind) => kind.startsWith("suspend"))).toEqual([
    "suspend.opened race[ask]/ok",
    "suspend.answered",
    "suspend.closed race[ask]/ok",
    "suspend.opened end",
  ]);
  // Here nothing is as quick as the step was.
  const second = createApp({ ...on, workflows: [flow((c) => c.sleep("1d"))] });
  await on.world.run(second.advance("r"));
  return { on, app: second, token };
}

async function endOf({ on, app }: { readonly on: Lab; readonly app: App }): Promise<unknown> {
  await on.world.run(app.advance("r"));
  const { outcome } = await on.world.run(app.resume(tokenOf(await app.get("r").outcome(), "end"), "end"));
  return outputOf(outcome);
}

test("a wait that was answered, closed and opened again still ends by its timeout", async () => {
  const { on, app } = await reopened();
  await on.world.advance(2 * hour);
  expect(await endOf({ on, app })).toEqual(["ask", "late", "end"]);
});

test("a wait that was answered, closed and opened again takes another answer", async () => {
  const { on, app, token } = await reopened();
  expect((await app.resume(token, "again", { drive: false })).status).toBe("accepted");
  await on.world.advance(2 * hour);
  expect(await endOf({ on, app })).toEqual(["ask", "again", "end"]);
});
