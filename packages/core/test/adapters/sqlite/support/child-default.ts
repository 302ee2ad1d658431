/** A program that names no storage: `start <id>` prints a token, `resume <token>` answers it. */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { durable } from "../../../../src/index.ts";
import { defaultStorage } from "../../../../src/adapters/sqlite/default.ts";

const flow = durable("ask", async (ctx) => {
  const asked = await ctx.step("ask", () => process.pid);
  return [asked, await ctx.suspend("answer")];
});

const [what, text = ""] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin });
console.log("ready");
await once(lines, "line");
const storage = await defaultStorage();
if (what === "resume") {
  const { status, outcome } = await flow.resume(text, "yes");
  console.log("resumed", JSON.stringify({ status, outcome }));
} else {
  const outcome = await flow.run(undefined, { id: text });
  console.log("token", outcome.status === "suspended" ? outcome.waiting[0]?.token : outcome.status);
  console.log(
    "secret",
    createHash("sha256")
      .update((await storage.secret?.()) ?? "")
      .digest("hex"),
  );
}
await storage.close?.();
lines.close();
process.stdin.destroy();
