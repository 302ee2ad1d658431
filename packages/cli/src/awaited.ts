/**
 * A journal that is not there yet: empty until another process makes it, so that a page can be open before the first run.
 *
 * awaited.1. No file is made here. There is nothing to act on before another process has made one.
 */

import { existsSync } from "node:fs";
import { MemoryStorage, type Storage } from "@durable/core";

const lookMs = 300;

/** Asks an empty storage until a file exists, and then the storage that `open` gives. */
export function awaitedStorage(path: string, open: () => Promise<Storage>): Storage {
  let storage: Storage = new MemoryStorage();
  const look = async (): Promise<void> => {
    if (!existsSync(path)) return;
    clearInterval(timer);
    storage = await open();
  };
  const timer = setInterval(() => void look().catch(() => {}), lookMs);
  const close = async (): Promise<void> => {
    clearInterval(timer);
    await storage.close?.();
  };
  return new Proxy({} as Storage, {
    get: (_, name) => {
      if (name === "close") return close;
      const member: unknown = Reflect.get(storage, name);
      return typeof member === "function" ? (member.bind(storage) as unknown) : member;
    },
  });
}
