/**
 * One process that drives the workflow under test: every pass of the workflow function in it, the calls of
 * each pass, and the bodies that ran. After its death nothing is recorded, and no body starts. Proven in
 * test/kit-parts.test.ts.
 */

import type { AnyWorkflow, Context, StepInfo, Workflow, World } from "@durable/core";
import { place, type AmbientName, type Place, type UnrecordedKind } from "./ambient.ts";
import type { Bodies } from "./bodies.ts";
import { calledAt } from "./call-site.ts";
import { isSource, pulled } from "./chunk-source.ts";
import { observed, type Observer } from "./observer.ts";
import { withBody, type Body } from "./with-body.ts";
import type { Replacements } from "./replaced-steps.ts";

/** A call of a pass; the error has its call site. */
export interface Asked {
  readonly what: string;
  readonly from: Error;
}

/** The calls of one pass over the journal, as far as it got. */
export type Pass = readonly Asked[];

/** What all processes of a history record together. */
export interface Notes {
  /** By run and chapter: a child is a run of its own, and each chapter has calls of its own. */
  readonly passes: Map<string, Pass[]>;
  /** How often each body was called: of steps, of streams, and of children, below the key of the child. */
  readonly ran: Map<string, number>;
  /** Steps whose body read its idempotency key. */
  readonly keyed: Set<string>;
  /** Uncertain steps that a function resolved. */
  readonly found: Set<string>;
  readonly reads: { readonly name: AmbientName; readonly from: Error }[];
  /** Work of fakes outside of any step. */
  readonly unrecorded: { readonly kind: UnrecordedKind; readonly name: string; readonly from: Error }[];
}

export function emptyNotes(): Notes {
  return { passes: new Map(), ran: new Map(), keyed: new Set(), found: new Set(), reads: [], unrecorded: [] };
}

export interface ObservedLifeParts {
  readonly world: World;
  readonly bodies: Bodies;
  readonly notes: Notes;
  readonly replacements?: Replacements;
}

export class ObservedLife {
  readonly #parts: ObservedLifeParts;
  /** The observed children, by their code and the path of their keys. */
  readonly #children = new Map<AnyWorkflow["definition"], Map<string, AnyWorkflow>>();
  #over = false;

  constructor(parts: ObservedLifeParts) {
    this.#parts = parts;
  }

  end(): void {
    this.#over = true;
  }

  /** The same workflow, observed, for the app of this process. */
  observe<Input, Output>(flow: Workflow<Input, Output>): Workflow<Input, Output> {
    return withBody(flow, (body) => (ctx, given) => this.#pass({ body, path: "" }, ctx, given));
  }

  /** A child, observed; the same object for repeated calls. */
  #child(path: string, { name, definition }: AnyWorkflow): AnyWorkflow {
    const known = this.#children.get(definition) ?? new Map<string, AnyWorkflow>();
    this.#children.set(definition, known);
    const body = (ctx: Context, input: unknown): unknown =>
      this.#pass({ body: definition.body as Body, path }, ctx, input);
    const child = known.get(path) ?? { name, definition: { ...definition, body } };
    known.set(path, child);
    return child;
  }

  #pass(
    { body, path }: { readonly body: Body; readonly path: string },
    ctx: Context,
    input: unknown,
  ): unknown {
    const { notes, world } = this.#parts;
    const asked: Asked[] = [];
    // A draw is equal in all passes over a chapter, and in no other chapter.
    const chapter = `${ctx.runId} ${ctx.uuid("chapter of a crash test")}`;
    if (!this.#over) notes.passes.set(chapter, [...(notes.passes.get(chapter) ?? []), asked]);
    const here: Place = {
      now: () => Math.floor(world.now()),
      read: (name, from) => {
        if (!this.#over) notes.reads.push({ name, from });
      },
      unrecorded: (kind, name, from) => {
        if (!this.#over) notes.unrecorded.push({ kind, name, from });
      },
    };
    const observer: Observer = {
      called: (what, wrapper) => {
        if (!this.#over) asked.push({ what, from: calledAt(what, wrapper) });
      },
      branch: (work) => place.run(here, work),
      body: (key, info, work) => this.#body(`${path}${key}`, info, work),
      stream: (key, info, work) => this.#stream(`${path}${key}`, info, work),
      find: (key, work) => {
        if (!this.#over) notes.found.add(`${path}${key}`);
        return this.#outside(`${path}${key}`, work);
      },
      child: (key, workflow) => this.#child(`${path}${key}/`, workflow),
    };
    return place.run(here, () => body(observed(ctx, observer), input));
  }

  #body(key: string, info: StepInfo | null, work: (info: unknown) => unknown): unknown {
    const { notes } = this.#parts;
    if (!this.#over) notes.ran.set(key, (notes.ran.get(key) ?? 0) + 1);
    const given =
      info === null
        ? info
        : new Proxy(info, {
            get: (target, property): unknown => {
              if (property === "idempotencyKey") notes.keyed.add(key);
              return Reflect.get(target, property, target);
            },
          });
    const done = this.#parts.replacements?.of(key, work) ?? work;
    return this.#outside(key, () => done(given));
  }

  /** A producer works only while a chunk is pulled. */
  async #stream(key: string, info: StepInfo | null, work: (info: unknown) => unknown): Promise<unknown> {
    const source = await this.#body(key, info, work);
    return isSource(source) ? pulled(source, (pull) => this.#outside(key, pull)) : source;
  }

  /** Work in real time, which virtual time waits for. */
  #outside(key: string, work: () => unknown): unknown {
    // A dead process starts nothing.
    if (this.#over) return new Promise(() => {});
    const { world, bodies } = this.#parts;
    return bodies.run(key, () => place.run({ now: () => Math.floor(world.now()) }, work));
  }
}
