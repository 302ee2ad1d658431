/** `durable send`: sends a message to a run. */

import type { SendResult } from "@durable/core";
import type { Command } from "../command.ts";
import { exit } from "../exit.ts";
import { findRun, shortId } from "../runs.ts";
import { readValue } from "../values.ts";

export const send: Command = {
  usage: "<run> <topic> <json> [--id text]",
  summary: "Sends a message to a run, which reads it with ctx.receive",
  arguments: [3, 3],
  examples: [
    "durable send order-7 note '\"call the customer\"'",
    "durable send order-7 note @note.json --id note-1",
  ],
  options: {
    id: { type: "string", value: "text", help: "names the message, so that sending it twice counts once" },
  },
  more: ["The message is JSON, text, @file or - for stdin. It is only recorded; a worker continues the run."],
  run: async ({ args: [reference = "", topic = "", text = ""], flags, streams, answer, session }) => {
    const { app } = await session();
    const runId = await findRun(app, reference);
    const payload = await readValue(text, streams);
    const result = await app.send(runId, topic, payload, { id: flags.text("id") });
    answer({
      json: { runId, topic, ...result },
      text: [sentence(result, topic, shortId(runId))],
      next:
        result.status === "accepted" && !result.repeated
          ? [`a worker continues it; or: durable wake ${shortId(runId)}`]
          : [`durable show ${shortId(runId)}`],
    });
    return exitOf(result);
  },
};

function sentence({ status, repeated, issues }: SendResult, topic: string, id: string): string {
  switch (status) {
    case "accepted":
      return repeated
        ? "A message with this id was sent before. Nothing was changed."
        : `The message is recorded in the mailbox "${topic}" of ${id}.`;
    case "conflict":
      return "A message with this id and other content was sent before. Nothing was changed.";
    case "invalid":
      return `The message does not fit its topic: ${issues ?? ""}`;
    case "ended":
      return `Run ${id} has ended, and reads no messages.`;
  }
}

function exitOf({ status }: SendResult): number {
  if (status === "accepted") return exit.ok;
  return status === "invalid" ? exit.usage : exit.refused;
}
