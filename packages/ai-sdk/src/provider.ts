/**
 * A provider of the AI SDK whose models are recorded: every function of it that returns a model returns it recorded.
 * Proven in test/provider.test.ts.
 */

import { checkedModelOptions, type ModelOptions } from "./call.ts";
import { durableModel } from "./model.ts";
import { placed, type Place } from "./place.ts";

/**
 * The same provider, registry or gateway; the models that it gives are recorded with a context or a journal. Without
 * either, they are recorded in the run in which they are called.
 */
export function durableProvider<P extends object>(on: Place, provider: P, options?: ModelOptions): P;
export function durableProvider<P extends object>(provider: P, options?: ModelOptions): P;
export function durableProvider<P extends object>(...args: readonly unknown[]): P {
  const { on, what: provider, options: given } = placed<P, ModelOptions>(args);
  const options = checkedModelOptions(given, "durableProvider");
  const recorded = (given: unknown): unknown => {
    if (!isModel(given)) return given;
    return on === null ? durableModel(given, options) : durableModel(on, given, options);
  };
  return new Proxy(provider, {
    // A provider may be a function: openai("gpt-6-luna").
    apply: (target, self, args: unknown[]) =>
      recorded(Reflect.apply(target as unknown as Factory, self, args)),
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      return new Proxy(value as Factory, {
        apply: (factory, _, args: unknown[]) => recorded(Reflect.apply(factory, target, args)),
      });
    },
  });
}

type Factory = (...args: unknown[]) => unknown;

/** Models of all kinds and versions have these fields, and nothing else of a provider has. */
function isModel(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const { specificationVersion, modelId } = value as Readonly<
    Record<"specificationVersion" | "modelId", unknown>
  >;
  return typeof specificationVersion === "string" && typeof modelId === "string";
}
