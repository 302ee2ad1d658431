/** States that grow to about a megabyte in a hundred steps, and what a storage is given to keep for each step. */

import type { Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { Chance } from "../../support/codec-values.ts";
import { prose } from "../../support/blobs-pack.ts";

/** From the state before to the next one. */
export type Grow = (state: unknown, turn: number) => unknown;

const message = (chance: Chance, turn: number) => ({
  role: turn % 2 === 0 ? "user" : "assistant",
  content: prose(chance, 9_800 + chance.below(400)),
});

/** The shapes a conversation is kept in; each message takes about 10 kB. */
export const conversations: Readonly<Record<string, (seed: number) => Grow>> = {
  "a list of messages": (seed) => {
    const chance = new Chance(seed);
    return (state = [], turn) => [...(state as unknown[]), message(chance, turn)];
  },
  "a counter beside a list of messages": (seed) => {
    const chance = new Chance(seed);
    return (state = { messages: [] }, turn) => {
      const { messages } = state as { messages: unknown[] };
      return { turn, usage: { tokens: turn * 2_500 }, messages: [...messages, message(chance, turn)] };
    };
  },
  "messages in parts, with tool calls": (seed) => {
    const chance = new Chance(seed);
    return (state = { messages: [] }, turn) => {
      const text = { type: "text", text: prose(chance, 4_000) };
      const call = { type: "tool-call", id: `call-${turn}`, input: { query: prose(chance, 900) } };
      const result = { type: "tool-result", id: `call-${turn}`, output: prose(chance, 5_000) };
      const { messages } = state as { messages: unknown[] };
      return { turn, messages: [...messages, { role: "assistant", content: [text, call, result] }] };
    };
  },
  "one growing text": (seed) => {
    const chance = new Chance(seed);
    return (state = "", turn) =>
      `${String(state)}${turn % 2 === 0 ? "user" : "model"}: ${prose(chance, 10_000)}\n`;
  },
};

export interface Written {
  /** UTF-8 bytes of the batch, and of blobs that came with a body. */
  readonly batch: number;
  readonly blobs: number;
  readonly bodies: readonly string[];
  /** Blobs that were named, with a body or without. */
  readonly names: readonly string[];
}

/** A storage that notes what each append brings. */
export function noting(storage: Storage): { readonly storage: Storage; readonly written: Written[] } {
  const written: Written[] = [];
  const append = (request: AppendRequest): Promise<void> => {
    const bodies = (request.blobs ?? []).flatMap(({ body }) => (body === undefined ? [] : [body]));
    const names = (request.blobs ?? []).map(({ name }) => name);
    const blobs = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
    written.push({ batch: Buffer.byteLength(request.batch), blobs, bodies, names });
    return storage.append(request);
  };
  const proxy = new Proxy(storage, {
    get: (target, name) => {
      if (name === "append") return append;
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
  return { storage: proxy, written };
}
