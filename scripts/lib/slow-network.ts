/**
 * A network between a benchmark and a server on the same machine: a thread that passes bytes on after a delay in each
 * direction.
 */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

interface Route {
  readonly port: number;
  readonly delayMs: number;
}

/** The address of the same server through a network that delays each direction. */
export async function slowNetwork(
  url: string,
  delayMs: number,
): Promise<{ url: string; close: () => Promise<unknown> }> {
  const away = new URL(url);
  const worker = new Worker(new URL(import.meta.url), { workerData: { port: Number(away.port), delayMs } });
  away.port = String(await new Promise<number>((resolve) => worker.once("message", resolve)));
  return { url: away.href, close: () => worker.terminate() };
}

function pass(from: Socket, to: Socket, delayMs: number): void {
  from.setNoDelay(true);
  from.on("data", (data) => void setTimeout(() => to.write(data), delayMs));
  from.on("close", () => to.destroy());
  from.on("error", () => {});
}

if (!isMainThread) {
  const { port, delayMs } = workerData as Route;
  const server = createServer((client) => {
    const behind = connect(port, "127.0.0.1");
    pass(client, behind, delayMs);
    pass(behind, client, delayMs);
  });
  server.listen(0, "127.0.0.1", () => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    parentPort?.postMessage((server.address() as AddressInfo).port);
  });
}
