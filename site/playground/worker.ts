/**
 * The engine and the program, in a worker without a network: journals are in IndexedDB, so `terminate()` is a crash, and the
 * next worker goes on from the journal. Without code it only reads.
 */
import * as core from "@durable/core";
import type { App, Outcome } from "@durable/core";
import { IndexedDBBucket } from "@durable/core/indexeddb";
import { type Bucket, RemoteStorage } from "@durable/core/remote";
import { compile, type Compiled } from "./compile.ts";
import { createPlayground, prices } from "./model.ts";
import { pictureOf } from "./picture.ts";
import type { Boot, Objects, Order, Report } from "./protocol.ts";

const post = postMessage as (report: Report) => void;
const secret = "tokens of this page are answered in this page";
/** A worker that was terminated cannot give its lease back. The next one waits this long. */
const lease = 1_000;

let boot: Boot = { bucket: "", code: null, pace: "fast", takes: {} };
let driven = "";
let program: Compiled | null = null;
let app: App | null = null;
let bucket: Bucket | null = null;
const allowed = new Map<number, () => void>();

async function start(given: Boot): Promise<void> {
  boot = given;
  const objects = new IndexedDBBucket(boot.bucket, { sync: false });
  bucket = objects;
  const playground = createPlayground({
    pace: boot.pace,
    takes: new Map(Object.entries(boot.takes)),
    run: () => driven,
    called: (call) => post({ is: "call", call }),
    replied: (number, isDropped) => post({ is: "replied", number, isDropped }),
    allowed: (number) => new Promise((resolve) => allowed.set(number, resolve)),
  });
  program = boot.code === null ? null : await compile(boot.code, { "@durable/core": core, playground });
  app = core.createApp({
    workflows: program === null ? [] : [program.flow],
    storage: new RemoteStorage(watched(objects)),
    secret,
    lease,
    patience: "10 minutes",
    prices,
    bind: false,
    hooks: {
      onAttempt: ({ key, attempt }) => {
        post({ is: "attempt", key, attempt });
        return async (work) => {
          await work();
          post({ is: "attempt-end", key });
        };
      },
      onStep: replayed,
      onWait: replayed,
    },
  });
}

function replayed(event: { readonly key: string; readonly replayed: boolean }): void {
  if (event.replayed) post({ is: "replayed", key: event.key });
}

/** Each object that is written may be a new entry: the page sees the journal grow. */
function watched(objects: IndexedDBBucket): Bucket {
  return {
    get: (key) => objects.get(key),
    list: (query) => objects.list(query),
    put: (key, text) => objects.put(key, text),
    delete: (keys) => objects.delete(keys),
    create: async (key, text) => {
      const isNew = await objects.create(key, text);
      if (isNew && driven !== "") void show(driven);
      return isNew;
    },
  };
}

let showing: Promise<void> | null = null;
let again = false;

/** Posts a run as it is now: one at a time, and once more when it changed meanwhile. */
async function show(id: string): Promise<void> {
  if (showing !== null) {
    again = true;
    return showing;
  }
  showing = (async () => {
    do {
      again = false;
      const run = await pictureOf(appOf(), id).catch(() => null);
      if (run !== null) post({ is: "run", run });
    } while (again);
  })();
  await showing;
  showing = null;
}

function appOf(): App {
  if (app === null) throw new Error("The worker was not started.");
  return app;
}

function programOf(): Compiled {
  if (program === null) throw new Error("This worker only reads.");
  return program;
}

/** Drives a run until it stops. A run whose driver was terminated is free when its lease has ended. */
async function drive(id: string, first?: Promise<Outcome<unknown>>): Promise<void> {
  let outcome = await (first ?? appOf().advance(id));
  while (outcome.status === "running") {
    post({ is: "waiting", text: "The lease of the crashed worker ends within a second." });
    await new Promise((resolve) => setTimeout(resolve, lease / 4));
    outcome = await appOf().advance(id);
  }
  await show(id);
}

async function fork(order: Extract<Order, { do: "fork" }>): Promise<void> {
  const { flow } = programOf();
  const places =
    order.json === null
      ? { from: order.from }
      : { edit: { [order.from]: JSON.parse(order.json) as unknown } };
  driven = order.as;
  const run = await appOf().fork(flow, order.id, { ...places, id: order.as });
  await show(run.id);
  // Until it ends, or only an answer can help.
  await run.result().catch((error: unknown) => {
    if (!core.DurableError.is(error)) throw error;
  });
  await show(run.id);
}

async function answer({ id, key, json }: Extract<Order, { do: "answer" }>): Promise<void> {
  const outcome = await appOf().get(id).outcome();
  const wait = "waiting" in outcome ? outcome.waiting.find((point) => point.key === key) : undefined;
  if (wait === undefined) throw new Error(`Run ${id} no longer waits for "${key}".`);
  const { status, outcome: next } = await appOf().resume(wait.token, JSON.parse(json) as unknown);
  if (status !== "accepted") throw new Error(`The answer is ${status}.`);
  await drive(id, next === undefined ? undefined : Promise.resolve(next));
}

async function dump(): Promise<Objects> {
  const objects: [string, string][] = [];
  for (let more = true, after = ""; more;) {
    const page = await bucketOf().list({ prefix: "", after });
    for (const key of page.keys) objects.push([key, (await bucketOf().get(key)) ?? ""]);
    more = page.more;
    after = page.keys.at(-1) ?? "";
  }
  return objects;
}

function bucketOf(): Bucket {
  if (bucket === null) throw new Error("The worker was not started.");
  return bucket;
}

async function obey(order: Order): Promise<void> {
  switch (order.do) {
    case "boot":
      return start(order.boot);
    case "look":
      for (const id of order.runs) await show(id);
      return;
    case "run": {
      driven = order.id;
      const { flow, input } = programOf();
      return drive(order.id, appOf().run(flow, input, { id: order.id }));
    }
    case "continue":
      driven = order.id;
      return drive(order.id);
    case "answer":
      driven = order.id;
      return answer(order);
    case "fork":
      return fork(order);
    case "reply":
      return;
    case "dump":
      return post({ is: "objects", objects: await dump() });
    case "fill":
      for (const [key, text] of order.objects) await bucketOf().create(key, text);
  }
}

/** Orders are obeyed one after the other, apart from replies, which end what an order waits for. */
let line: Promise<void> = Promise.resolve();
let broken: { readonly error: unknown } | null = null;

async function next(order: Order): Promise<void> {
  try {
    if (broken !== null) throw broken.error;
    await obey(order);
  } catch (error) {
    // A program that cannot be compiled is reported by the order that needs it.
    if (order.do === "boot") broken = { error };
    else post({ is: "failed", message: error instanceof Error ? error.message : String(error) });
  }
  if (order.do !== "boot") post({ is: "done" });
}

addEventListener("message", ({ data }: MessageEvent<Order>) => {
  if (data.do === "reply") {
    allowed.get(data.number)?.();
    return;
  }
  const before = line;
  line = (async () => {
    await before;
    await next(data);
  })();
});
