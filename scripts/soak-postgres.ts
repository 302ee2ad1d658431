/**
 * Appends to Postgres whose outcome is unknown, because the connection is cut or the backend is terminated:
 *
 *     npm run soak:postgres -- --cuts 1000
 *
 * Each is settled by its write id. The last line says how many had landed, and what was doubled or lost.
 */
import { parseArgs } from "node:util";
import { cutAppends } from "../packages/postgres/test/support/ambiguous.ts";
import { startPostgres } from "../packages/postgres/test/support/server.ts";

const { values } = parseArgs({ options: { cuts: { type: "string", default: "1000" } } });
const cuts = Number(values.cuts);
if (!Number.isInteger(cuts) || cuts < 1) {
  console.error("soak:postgres: --cuts is a whole number");
  process.exit(1);
}

const server = await startPostgres();
try {
  const report = await cutAppends({
    url: server.url,
    schema: "durable",
    cuts,
    progress: (unknown) => {
      if (unknown % Math.ceil(cuts / 10) === 0) console.log(`${unknown} unknown outcomes`);
    },
  });
  const { unknown, landed, missed, runs, steps, doubled, lost, unfinished } = report;
  console.log(
    `soak:postgres: ${unknown} unknown outcomes in ${runs} runs, ${landed} had landed, ${missed} had not; ` +
      `of ${steps} steps ${doubled} doubled, ${lost} lost; ${unfinished} runs not completed`,
  );
  process.exitCode = doubled + lost + unfinished === 0 && unknown >= cuts ? 0 : 1;
} finally {
  await server.stop();
}
