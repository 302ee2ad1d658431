/**
 * Steps whose work a test replaces by name, instead of the services behind them. Proven in test/kit-steps.test.ts.
 */

import type { AnyWorkflow, StepInfo, Workflow } from "@durable/core";
import { observed, type Observer } from "./observer.ts";
import { withBody, type Body } from "./with-body.ts";

/**
 * Work in place of that of the steps and streams of a name, or of a key such as `map[rome]/charge`. It gets what the work
 * would get.
 */
export type ReplacedSteps = Readonly<Record<string, (info: StepInfo) => unknown>>;

/** Finds replacements, and says which of them were never used. */
export class Replacements {
  readonly #steps: ReplacedSteps;
  readonly #used = new Set<string>();

  constructor(steps: ReplacedSteps) {
    this.#steps = steps;
  }

  /** The work of the step with this key: the replacement of its key, of its name, or its own. */
  of(key: string, work: (info: unknown) => unknown): (info: unknown) => unknown {
    const first = key.replace(/#\d+$/, "");
    const isNamed = (name: string): boolean => first === name || first.endsWith(`/${name}`);
    const name = Object.hasOwn(this.#steps, key) ? key : Object.keys(this.#steps).find(isNamed);
    if (name === undefined) return work;
    this.#used.add(name);
    return (info) => this.#steps[name]?.(info as StepInfo);
  }

  unused(): string[] {
    return Object.keys(this.#steps).filter((name) => !this.#used.has(name));
  }
}

/** The same workflow with the work of some steps replaced, those of its children included: for tests. */
export function withSteps<Input, Output>(
  flow: Workflow<Input, Output>,
  steps: ReplacedSteps,
): Workflow<Input, Output> {
  const replacements = new Replacements(steps);
  const children = new Map<AnyWorkflow["definition"], AnyWorkflow>();
  const replaced =
    (body: Body): Body =>
    (ctx, input) =>
      body(observed(ctx, observer), input);
  const observer: Observer = {
    branch: (work) => work(),
    body: (key, info, work) => replacements.of(key, work)(info),
    child: (_, { name, definition }) => {
      const child = children.get(definition) ?? {
        name,
        definition: { ...definition, body: replaced(definition.body as Body) },
      };
      children.set(definition, child);
      return child;
    },
  };
  return withBody(flow, replaced);
}
