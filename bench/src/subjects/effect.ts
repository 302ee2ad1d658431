/**
 * Effect's cluster on Postgres, as a single runner. Both packages are release candidates: npm has no later Postgres client,
 * and effect 4.1 does not load with this one. A step is an activity: its call is stored, and then its result, before it
 * returns. The cluster wants cryptography of the platform, which has a package of its own.
 */

import { load, Signals, type SubjectModule, type Work } from "../engine.ts";

interface Effect<A = unknown> {
  [Symbol.iterator](): Iterator<Effect, A, unknown>;
}
/** A layer, a schema or another value that is only passed on. */
type Part = object;
interface Flow {
  execute(work: Work, options?: { discard: boolean }): Effect;
  toLayer(body: (work: Work) => Effect<void>): Part;
}
interface Core {
  readonly Effect: {
    gen<A>(body: () => Generator<Effect, A, unknown>): Effect<A>;
    sync<A>(body: () => A): Effect<A>;
    all(effects: readonly Effect[], options: { concurrency: "unbounded" }): Effect;
    readonly void: Effect<void>;
  };
  readonly Layer: { provideMerge(layer: Part, needed: Part): Part };
  readonly ManagedRuntime: {
    make(layer: Part): { runPromise<A>(effect: Effect<A>): Promise<A>; dispose(): Promise<void> };
  };
  readonly Redacted: { make(text: string): Part };
  readonly Schema: {
    readonly String: Part;
    readonly Number: Part;
    readonly Boolean: Part;
    optional: (of: Part) => Part;
  };
}
interface Workflows {
  readonly Workflow: {
    make(
      name: string,
      options: { payload: Record<string, Part>; idempotencyKey: (work: Work) => string },
    ): Flow;
  };
  readonly Activity: {
    make(options: { name: string; success?: Part; execute: Effect }): Effect;
  };
  readonly DurableDeferred: {
    make(name: string, options: { success: Part }): Part;
    await(deferred: Part): Effect<boolean>;
    tokenFromPayload(deferred: Part, of: { workflow: Flow; payload: Work }): Effect<string>;
    succeed(deferred: Part, given: { token: string; value: boolean }): Effect;
  };
}
interface Cluster {
  readonly ClusterWorkflowEngine: { readonly layer: Part };
  readonly SingleRunner: { layer(): Part };
}
type Pg = { PgClient: { layer(options: { url: Part }): Part } };

export const open: SubjectModule["open"] = async ({ postgres }, marks) => {
  const { Effect, Layer, ManagedRuntime, Redacted, Schema } = await load<Core>("effect");
  const { Activity, DurableDeferred, Workflow } = await load<Workflows>("effect/unstable/workflow");
  const { ClusterWorkflowEngine, SingleRunner } = await load<Cluster>("effect/unstable/cluster");
  const { PgClient } = await load<Pg>("@effect/sql-pg");
  const crypto = await load<{ layer: Part }>("@effect/platform-node-shared/NodeCrypto");
  const asked = new Signals();
  const answer = DurableDeferred.make("answer", { success: Schema.Boolean });
  const maybe = Schema.optional(Schema.Boolean);
  const flow = Workflow.make("bench", {
    payload: { id: Schema.String, steps: Schema.Number, parallel: maybe, wait: maybe },
    idempotencyKey: ({ id }) => id,
  });
  const step = (i: number): Effect =>
    Activity.make({ name: `step-${i}`, success: Schema.Number, execute: Effect.sync(() => i) });
  const body = flow.toLayer(({ id, steps, parallel, wait }) =>
    Effect.gen(function* () {
      marks.begin();
      if (parallel === true)
        yield* Effect.all(
          Array.from({ length: steps }, (_, i) => step(i)),
          { concurrency: "unbounded" },
        );
      else for (let i = 0; i < steps; i++) yield* step(i);
      marks.end();
      if (wait !== true) return;
      asked.fire(id);
      yield* DurableDeferred.await(answer);
      yield* Activity.make({ name: "after", execute: Effect.sync(() => marks.body()) });
    }),
  );
  const layers = [
    body,
    ClusterWorkflowEngine.layer,
    SingleRunner.layer(),
    crypto.layer,
    PgClient.layer({ url: Redacted.make(postgres) }),
  ];
  const runtime = ManagedRuntime.make(layers.reduce((layer, needed) => Layer.provideMerge(layer, needed)));
  // The storage is opened when something runs for the first time.
  await runtime.runPromise(Effect.void);
  return {
    run: async (work) => void (await runtime.runPromise(flow.execute(work))),
    wait: async (work) => {
      const ready = asked.wait(work.id);
      await runtime.runPromise(flow.execute({ ...work, wait: true }, { discard: true }));
      await ready;
      return runtime.runPromise(DurableDeferred.tokenFromPayload(answer, { workflow: flow, payload: work }));
    },
    answer: async (token) =>
      void (await runtime.runPromise(DurableDeferred.succeed(answer, { token, value: true }))),
    close: () => runtime.dispose(),
  };
};
