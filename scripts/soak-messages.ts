/**
 * Messages to many runs from several processes, some of which are killed:
 *
 *     npm run soak:messages -- --storage sqlite
 *     npm run soak:messages -- --storage postgres --runs 1000 --messages 96000 --senders 8
 *
 * --storage   as for soak:fleet
 * Fails when a message is lost, read twice, or read out of the order of its sender.
 */
import { parseArgs } from "node:util";
import { sendMany } from "./fleet/messages.ts";
import { placeOf } from "./fleet/storage.ts";

const { values } = parseArgs({
  options: {
    storage: { type: "string", default: "sqlite" },
    runs: { type: "string", default: "1000" },
    messages: { type: "string", default: "104000" },
    senders: { type: "string", default: "8" },
    workers: { type: "string", default: "2" },
    kills: { type: "string", default: "40" },
    killEveryMs: { type: "string", default: "3000" },
    minutes: { type: "string", default: "60" },
  },
});
const place = await placeOf(values.storage);
try {
  const began = Date.now();
  const report = await sendMany(place, {
    runs: Number(values.runs),
    messages: Number(values.messages),
    senders: Number(values.senders),
    workers: Number(values.workers),
    kills: Number(values.kills),
    killEveryMs: Number(values.killEveryMs),
    patienceMs: Number(values.minutes) * 60_000,
    progress: (line) => console.log(line),
  });
  const seconds = Math.round((Date.now() - began) / 1_000);
  for (const line of report.wrong.slice(0, 20)) console.log(line);
  console.log(
    `soak:messages: ${values.messages} messages to ${report.completed} of ${values.runs} runs, ${report.kills} kills, ${report.wrong.length} wrong, ${seconds} s`,
  );
  if (report.wrong.length > 0 || report.completed !== Number(values.runs)) process.exitCode = 1;
} finally {
  await place.close();
}
