/**
 * The thread of a candidate's code: it gets arguments and reports results. It never sees the expected values.
 */

// oxlint-disable unicorn/require-post-message-target-origin -- threads have no origin
import { parentPort, workerData } from "node:worker_threads";

const { candidate } = workerData as { candidate: string };
const { pages } = (await import(candidate)) as { pages: (text: string, last: number) => unknown };

parentPort?.on("message", ([text, last]: [string, number]) => {
  try {
    parentPort?.postMessage({ value: pages(text, last) });
  } catch (error) {
    parentPort?.postMessage({ error: error instanceof Error ? error.name : "something that is no error" });
  }
});
parentPort?.postMessage("ready");
