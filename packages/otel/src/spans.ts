/**
 * Spans of runs. The span of a run is the root of its trace, and is exported when the run ends. Each drive is a span below
 * it, exported when the drive stops. A step is one span, however many processes tried it, and each of its attempts is one.
 */

import type {
  AttemptEnd,
  AttemptEvent,
  EndEvent,
  HookEvent,
  Hooks,
  ParentOfRun,
  RunEvent,
  RunStop,
  StepEvent,
  WaitEvent,
} from "@durable/core/hooks";
import {
  context,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type SpanContext,
  type Tracer,
} from "@opentelemetry/api";
import { randomHex, RunIds, startAs } from "./ids.ts";

export interface SpanOptions {
  readonly tracer: () => Tracer;
  readonly sample: number;
}

/** A drive under way in this process. */
interface Drive {
  readonly ids: RunIds;
  readonly span: Span;
}

export function spanHooks(options: SpanOptions): Hooks {
  const spans = new Spans(options);
  return {
    onRun: (event) => spans.drive(event),
    onAttempt: (event) => (work) => spans.attempt(event, work),
    onStep: (event) => spans.step(event),
    onWait: (event) => spans.wait(event),
    onEnd: (event) => spans.end(event),
  };
}

class Spans {
  readonly #options: SpanOptions;
  readonly #drives = new Map<string, Drive>();
  /** The provider uses our `idGenerator`, so that spans get the ids that they ask for. */
  #takesIds: boolean | null = null;

  constructor(options: SpanOptions) {
    this.#options = options;
  }

  drive(event: RunEvent): (stop: RunStop) => void {
    const ids = this.#idsOf(event);
    const caller = trace.getSpanContext(context.active());
    const spanId = randomHex(16);
    const span = startAs({ spanId }, () =>
      this.#start(`drive ${event.workflow}`, event, {
        parent: spanBelow(ids.root),
        startTime: event.at,
        attributes: { "durable.chapter": event.chapter, "durable.new": event.isNew },
        // The request that started or resumed the run has a trace of its own.
        links: caller === undefined ? [] : [{ context: caller }],
      }),
    );
    this.#takesIds = span.spanContext().spanId === spanId;
    const drive = { ids, span };
    this.#drives.set(event.seed, drive);
    return (stop) => {
      span.setAttributes({
        "durable.outcome": stop.outcome,
        "durable.replayed": stop.replayed,
        "durable.appends": stop.appends,
      });
      finish(span, stop, stop.outcome === "failed" || stop.outcome === "blocked", stop.at);
      if (this.#drives.get(event.seed) === drive) this.#drives.delete(event.seed);
    };
  }

  /** The work runs with the span of its attempt as the active one. */
  attempt(event: AttemptEvent, work: () => Promise<AttemptEnd>): void {
    const span = this.#start(`attempt ${nameOf(event.key)}`, event, {
      parent: this.#belowStep(event),
      startTime: event.startedAt,
      attributes: callAttributes(event),
    });
    const ended = context.with(trace.setSpan(context.active(), span), work);
    void ended.then((end) => {
      span.setAttribute("durable.outcome", end.outcome);
      for (const { model, inputTokens, outputTokens } of end.usage)
        span.setAttributes({
          "gen_ai.response.model": model,
          "gen_ai.usage.input_tokens": inputTokens,
          "gen_ai.usage.output_tokens": outputTokens,
        });
      finish(span, end, end.outcome === "failed" || end.outcome === "retried", end.endedAt);
    });
  }

  /** A replayed step was exported when it was recorded. The span of the drive has the number of such steps. */
  step(event: StepEvent): void {
    if (event.replayed) return;
    const ids = this.#idsOf(event);
    const { spanId } = ids.step(event.key);
    const span = startAs({ spanId }, () =>
      this.#start(`${event.kind} ${nameOf(event.key)}`, event, {
        parent: spanBelow(this.#takes ? ids.root : this.#driveOf(event, ids)),
        startTime: event.startedAt,
        attributes: { ...callAttributes(event), "durable.outcome": event.outcome },
      }),
    );
    finish(span, event, event.outcome === "failed", event.endedAt);
  }

  wait(event: WaitEvent): void {
    if (event.replayed || event.endedAt === null) return;
    const { root } = this.#idsOf(event);
    const child = event.child === null ? null : new RunIds(event.child, this.#options.sample);
    const span = this.#start(`${event.kind} ${nameOf(event.key)}`, event, {
      parent: spanBelow(root),
      startTime: event.openedAt,
      attributes: { "durable.key": event.key, "durable.outcome": event.outcome },
      links: child === null ? [] : [{ context: child.root, attributes: { "durable.link": "child" } }],
    });
    finish(span, event, event.outcome === "failed", event.endedAt);
  }

  end(event: EndEvent): void {
    const ids = this.#idsOf(event);
    const takesIds = this.#takes;
    // A provider that asks no sampler about our flags would export it alone.
    if (!ids.isSampled) return;
    const { traceId, spanId } = ids;
    const span = startAs({ traceId, spanId }, () =>
      this.#start(`run ${event.workflow}`, event, {
        parent: takesIds ? ROOT_CONTEXT : spanBelow(ids.root),
        startTime: event.createdAt,
        attributes: {
          "durable.outcome": event.outcome,
          "durable.steps": event.steps,
          "durable.chapter": event.chapter,
        },
        links: this.#linksTo(event.parent),
      }),
    );
    finish(span, event, event.outcome === "failed", event.at);
  }

  get #takes(): boolean {
    if (this.#takesIds !== null) return this.#takesIds;
    // A span that is not ended is not exported.
    const spanId = randomHex(16);
    const span = startAs({ spanId }, () => this.#options.tracer().startSpan("ids", {}, ROOT_CONTEXT));
    return span.spanContext().spanId === spanId;
  }

  #idsOf({ seed }: HookEvent): RunIds {
    return this.#drives.get(seed)?.ids ?? new RunIds(seed, this.#options.sample);
  }

  /** Where attempts belong. A span of a step that has another id cannot be found by them. */
  #belowStep(event: AttemptEvent): Context {
    const ids = this.#idsOf(event);
    return spanBelow(this.#takes ? ids.step(event.key) : this.#driveOf(event, ids));
  }

  #driveOf({ seed }: HookEvent, { root }: RunIds): SpanContext {
    return this.#drives.get(seed)?.span.spanContext() ?? root;
  }

  #linksTo(parent: ParentOfRun | null): Link[] {
    if (parent === null || parent.seed === null) return [];
    const { root } = new RunIds(parent.seed, this.#options.sample);
    return [{ context: root, attributes: { "durable.link": `${parent.kind} of ${parent.runId}` } }];
  }

  #start(
    name: string,
    { runId, workflow, version }: HookEvent,
    given: {
      readonly parent: Context;
      readonly startTime: number;
      readonly attributes: Attributes;
      readonly links?: Link[];
    },
  ): Span {
    const { parent, startTime, links = [] } = given;
    const attributes: Attributes = {
      "durable.run.id": runId,
      "durable.workflow": workflow,
      ...(version === null ? {} : { "durable.version": version }),
      ...given.attributes,
    };
    return this.#options.tracer().startSpan(name, { startTime, attributes, links }, parent);
  }
}

function spanBelow(parent: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

function callAttributes({ key, attempt }: { readonly key: string; readonly attempt: number }): Attributes {
  return { "durable.key": key, "durable.attempt": attempt };
}

function finish(span: Span, { error }: { readonly error?: unknown }, failed: boolean, at: number): void {
  if (error !== undefined) {
    const { name, message } =
      error instanceof Error ? error : { name: "Error", message: JSON.stringify(error) ?? typeof error };
    span.recordException({ name, message }, at);
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end(at);
}

/** The last name of a key, without its number: `draft` for `parallel[a]/draft#2`. */
function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1).replace(/#\d+$/, "");
}
