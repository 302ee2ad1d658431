/** A workflow made anew with another body. Proven in test/kit-parts.test.ts. */

import { durable, type AnyWorkflow, type Context, type Workflow } from "@durable/core";

export type Body = (ctx: Context, input: unknown) => unknown;

/** What a workflow was made with, apart from its input and its version. */
export function ownOptions({ defaults, flow, messages, tags }: AnyWorkflow["definition"]): object {
  return { ...defaults, ...flow, ...(messages && { messages }), ...(tags && { tags }) };
}

/** The same workflow with its body wrapped, and not bound to any app. */
export function withBody<Input, Output>(
  { definition }: Workflow<Input, Output>,
  wrap: (body: Body) => Body,
): Workflow<Input, Output> {
  const { name, body, input, version } = definition;
  const made: unknown = durable(name, wrap(body as Body), {
    ...ownOptions(definition),
    ...(input === null ? {} : { input }),
    ...(version === null ? {} : { version }),
  });
  return made as Workflow<Input, Output>;
}
