/** One request to a Worker in workerd, which is started for it and stopped afterwards. */

import { Miniflare } from "miniflare";

export async function askWorker(script: string, compatibilityFlags: string[]): Promise<unknown> {
  const server = new Miniflare({
    modules: true,
    script,
    cf: false,
    compatibilityDate: "2026-07-01",
    compatibilityFlags,
    host: "127.0.0.1",
    port: 0,
  });
  try {
    const response = await fetch(await server.ready);
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  } finally {
    await server.dispose();
  }
}
