/** From the text of a program to its workflow: types are taken out, imports are those of the page, and nothing else can be loaded. */
import type { Workflow } from "@durable/core";
import { transform } from "sucrase";

export interface Compiled {
  readonly flow: Workflow<unknown, unknown>;
  readonly input: unknown;
}

type Modules = Readonly<Record<string, unknown>>;
type Body = (require: (name: string) => unknown, exports: Record<string, unknown>) => Promise<void>;

export async function compile(source: string, modules: Modules): Promise<Compiled> {
  const { code } = transform(source, {
    transforms: ["typescript", "imports"],
    disableESTransforms: true,
    filePath: "program.ts",
  });
  const exports: Record<string, unknown> = {};
  // A module of a blob: allowed by the policy of the page, as eval is not. Strict as every module.
  const url = URL.createObjectURL(
    new Blob([`export default async (require, exports) => { ${code}\n};`], { type: "text/javascript" }),
  );
  try {
    const { default: body } = (await import(/* @vite-ignore */ url)) as { readonly default: Body };
    await body((name) => {
      if (Object.hasOwn(modules, name)) return modules[name];
      throw new Error(`The playground has no module "${name}". Import "@durable/core" or "playground".`);
    }, exports);
  } finally {
    URL.revokeObjectURL(url);
  }
  const flow = exports["default"];
  if (typeof flow !== "object" || flow === null || !("name" in flow))
    throw new Error("Export the workflow: export default durable(...)");
  return { flow: flow as Workflow<unknown, unknown>, input: exports["input"] };
}
