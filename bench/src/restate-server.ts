/** The server of Restate on loopback, from its npm package, with data in a folder. */

import { spawn } from "node:child_process";
import { createRequire } from "node:module";

export interface RestateServer {
  /** For requests, and for its administration. */
  readonly urls: readonly [ingress: string, admin: string];
  stop(): Promise<void>;
}

const startMs = 30_000;

export async function startRestate(folder: string, freePort: () => Promise<number>): Promise<RestateServer> {
  const require = createRequire(
    createRequire(import.meta.url).resolve("@restatedev/restate-server/package.json"),
  );
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  const [ingress, admin, fabric] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(require.resolve(`${name}/bin/restate-server`), ["--no-logo", "--base-dir", folder], {
    stdio: "ignore",
    env: {
      ...process.env,
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_PORT: String(fabric),
      RESTATE_INGRESS__BIND_PORT: String(ingress),
      RESTATE_ADMIN__BIND_PORT: String(admin),
      RESTATE_DISABLE_TELEMETRY: "true",
      RUST_LOG: "error",
    },
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const urls = [`http://127.0.0.1:${ingress}`, `http://127.0.0.1:${admin}`] as const;
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
    await ended;
    clearTimeout(timer);
  };
  for (const until = Date.now() + startMs; ;) {
    const healthy = await Promise.all([fetch(`${urls[0]}/restate/health`), fetch(`${urls[1]}/health`)])
      .then((replies) => replies.every(({ ok }) => ok))
      .catch(() => false);
    if (healthy) return { urls, stop };
    if (Date.now() > until || child.exitCode !== null) {
      await stop();
      throw new Error("The server of Restate did not start.");
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
