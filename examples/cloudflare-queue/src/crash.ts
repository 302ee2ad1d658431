/** A deliberate crash, in development: the invocation ends at once, without catch or finally. */

import { wrapLanguageModel } from "ai";
import { questionOf, type Model } from "example-llm";

/** The part of the bucket for questions and reports that is used. */
export interface Site {
  put(name: string, text: string): Promise<unknown>;
  get(name: string): Promise<unknown>;
}

/**
 * The model. In development, writing a report on a topic that ends with "(crash)" kills the process once; a mark in the
 * bucket remembers it.
 */
export function crashing(model: Model, { DEV, SITE }: { readonly DEV?: string; readonly SITE: Site }): Model {
  if (DEV !== "1" || model.specificationVersion !== "v4") return model;
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: "v4",
      wrapGenerate: async ({ doGenerate, params }) => {
        const [task = "", topic = ""] = questionOf(params.prompt).split("\n");
        const mark = `crashed/${topic}`;
        if (task.startsWith("Write") && topic.endsWith("(crash)") && (await SITE.get(mark)) === null) {
          await SITE.put(mark, "");
          console.log(`crash: process.exit(1) while the model writes on ${topic}`);
          process.exit(1);
        }
        return doGenerate();
      },
    },
  });
}
