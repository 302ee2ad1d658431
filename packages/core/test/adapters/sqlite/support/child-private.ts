/** Makes files under the umask it was started with: `default` is a run that waits, `bucket` an object in a folder. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { defaultStorage } from "../../../../src/adapters/sqlite/default.ts";
import { FolderBucket } from "../../../../src/adapters/folder/index.ts";
import { durable } from "../../../../src/index.ts";

if (process.argv[2] === "bucket") {
  const bucket = new FolderBucket("bucket");
  await bucket.create("a/b", "text");
  await bucket.put("a/c", "text");
} else {
  const flow = durable("flow", (ctx) => ctx.suspend("wait"));
  await flow.run(undefined, { id: "r" });
  const names = [".durable", ...readdirSync(".durable").map((name) => join(".durable", name))];
  const modes = names.map((name) => [name, (statSync(name).mode & 0o777).toString(8)]);
  console.log(JSON.stringify(Object.fromEntries(modes)));
  await (await defaultStorage()).close?.();
}
