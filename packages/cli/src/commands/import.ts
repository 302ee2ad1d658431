/** `durable import`: adds the runs of an export to a storage. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ArchiveStorage } from "@durable/core/storage";
import { readArchive } from "../archive.ts";
import type { Command } from "../command.ts";
import { copyAll } from "../copying.ts";
import { CliError } from "../exit.ts";
import { defaultPlace, openStore, placeOf } from "../store.ts";

export const importCommand: Command = {
  usage: "<file>",
  summary: "Adds the runs of an export to a storage; nothing is overwritten",
  arguments: [1, 1],
  examples: ["durable import order-7.json", "durable import order-7.json --store postgres://app@host/runs"],
  options: {},
  run: async (context) => {
    const {
      args: [file = ""],
      flags,
      streams,
    } = context;
    let text: string;
    try {
      text = readFileSync(file === "-" ? 0 : resolve(streams.cwd, file), "utf8");
    } catch (error) {
      throw new CliError(
        `${file} could not be read: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    const from = new ArchiveStorage(readArchive(text, file).runs);
    const place = placeOf(flags.text("store") ?? defaultPlace(streams), streams);
    const to = await openStore(place, { ...streams, create: true });
    try {
      return await copyAll(context, { from, to, label: place.label });
    } finally {
      await to.close?.();
    }
  },
};
