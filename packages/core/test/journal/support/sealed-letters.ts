/** A run with a bit of everything under a cipher, and what a process says that finds something wrong with it. */

import { createApp, durable, type DurableError } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { expect } from "vitest";
import { failureOf, tokenOf } from "../../support/behaviour-lab.ts";
import { textOf } from "../../support/blobs-flow.ts";
import { sealedLab, storedRuns, type SealedLab } from "./sealed-lab.ts";

/** Keys of the bodies that ran. */
export const ran: string[] = [];
const work =
  <T>(value: T) =>
  ({ key }: { key: string }): T => {
    ran.push(key);
    return value;
  };
export const letters = durable("letters", async (ctx, input: { to: string; text: string }) => {
  const plan = await ctx.step("plan", work({ plan: "first this, then that" }));
  const draft = await ctx.step("draft", work([input.text, textOf(51, 9_000)]));
  const failed = await ctx
    .step("fails", () => Promise.reject(new Error("no luck")), { retry: false })
    .catch((error: Error) => error.message);
  const chunks = await ctx.stream("chunks", () => ["one", "two"]);
  const answers = await Promise.all([ctx.suspend("left", { note: "which?" }), ctx.suspend("right")]);
  await ctx.suspend("send", { note: "send it?" });
  return [plan, draft, failed, chunks, answers, await ctx.step("send it", work("sent"))];
});
export const input = { to: "somebody", text: textOf(52, 9_000) };

/** Two runs, parked at "send"; the answers before it came without code. */
export async function parked(cipher?: Cipher): Promise<{ lab: SealedLab; token: string }> {
  const lab = sealedLab(cipher);
  const app = createApp({ ...lab, workflows: [letters] });
  let token = "";
  for (const id of ["s", "r"]) {
    const first = await lab.world.run(letters.with({ ...lab }).run(input, { id }));
    for (const key of ["left", "right"])
      await lab.world.run(app.resume(tokenOf(first, key), `to the ${key}`, { drive: false }));
    token = tokenOf(await lab.world.run(app.advance(id)), "send");
  }
  return { lab, token };
}

/** Everything a process may try with run r fails alike; nothing runs, and nothing is written. */
export async function verdict(
  lab: SealedLab,
  token: string,
  encryption: Cipher | null = lab.encryption,
): Promise<DurableError> {
  const { world, storage, secret } = lab;
  const options = { world, storage, secret, ...(encryption === null ? {} : { encryption }) };
  const app = createApp({ ...options, workflows: [letters] });
  const before = await storedRuns(storage);
  ran.length = 0;
  const attempts: (() => Promise<unknown>)[] = [
    () => app.advance("r"),
    () => letters.with(options).run(input, { id: "r" }),
    () => app.resume(token, "yes"),
    () => app.resume(token, "yes", { drive: false }),
    () => app.get("r").outcome(),
    () => app.get("r").entries(),
    () => app.get("r").result(),
    () => app.cancel("r"),
    () => letters.with(options).fork("r", { from: "draft", id: "f" }),
  ];
  const errors: DurableError[] = [];
  for (const attempt of attempts) errors.push((await failureOf(world.run(attempt))) as DurableError);
  const [first] = errors;
  expect(errors.map(({ code, message }) => [code, message])).toEqual(
    attempts.map(() => [first?.code, first?.message]),
  );
  expect(ran).toEqual([]);
  expect(await storedRuns(storage)).toEqual(before);
  return first as DurableError;
}
