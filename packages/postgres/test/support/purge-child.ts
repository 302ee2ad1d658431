/** A process that purges a schema and says after each batch how many runs are gone: `<url> <schema>`. */

import { writeSync } from "node:fs";
import { createApp } from "@durable/core";
import { PostgresStorage } from "../../src/index.ts";

const [url = "", schema = ""] = process.argv.slice(2);
const storage = new PostgresStorage({ url, schema, listen: false });
const onProgress = ({ runs }: { readonly runs: number }): void => void writeSync(1, `gone ${runs}\n`);
const app = createApp({ storage, workflows: [] });
await storage.list({ limit: 1 });
writeSync(1, "up\n");
await app.purge({ olderThan: 0, onProgress });
writeSync(1, "done\n");
await storage.close();
