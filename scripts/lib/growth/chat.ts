/** A chat whose every turn finds a process that does not know its run. */

import { createApp, durable, type App, type Storage } from "@durable/core";

/** Each turn takes a message, asks a model and stores the answer. */
const chat = durable("chat", async (ctx) => {
  let words = 0;
  for (;;) {
    const said = String(await ctx.receive("say"));
    const answer = await ctx.step("model", () => `${said}, and more of it`);
    words += await ctx.step("store", () => answer.length);
    ctx.report({ words });
  }
});

function cold(storage: Storage): App {
  return createApp({ storage, secret: "a secret of the growth workloads, long enough", workflows: [chat] });
}

export async function startChat(storage: Storage): Promise<void> {
  await cold(storage).start("chat", undefined, { id: "r", drive: false });
}

export async function chatTurn(storage: Storage): Promise<void> {
  const app = cold(storage);
  await app.send("r", "say", "something that a person says to a model");
  await app.advance("r");
}
