/**
 * The tools of the agent. A tool returns what the model should see, including mistakes of the model. It
 * throws only if another attempt may help, and then the step around it retries.
 */

import type { RetryOptions, StepInfo } from "@durable/core";
import { z } from "zod";
import { calculate } from "./calculator.ts";
import { attemptHeader, type Harbour } from "./harbour-office.ts";
import { search, type Document, type Hit } from "./search.ts";

export interface AgentTool {
  readonly description: string;
  readonly inputSchema: z.ZodType;
  readonly retry?: RetryOptions;
  run(input: unknown, info: StepInfo): Promise<ToolOutput>;
}

/** Plain data: it is journaled, and the model gets it as JSON. */
export type ToolOutput =
  | { readonly hits: readonly Hit[] }
  | { readonly result: number }
  | Harbour
  | { readonly error: string };

export type AgentTools = Readonly<Record<string, AgentTool>>;

export interface ToolParts {
  readonly documents: readonly Document[];
  readonly harbourOffice: string;
  /** The speed of retries: 1 is lifelike, 0 is instant. */
  readonly pace: number;
}

export function createTools({ documents, harbourOffice, pace }: ToolParts): AgentTools {
  return {
    search: defineTool({
      description: "Searches a small library on tides. Gives the files that fit best, with an excerpt each.",
      inputSchema: z.object({ query: z.string().describe("a few words") }),
      run: async ({ query }) => ({ hits: search(documents, query) }),
    }),
    calculate: defineTool({
      description:
        "Works out an arithmetic expression: numbers, + - * / ^, brackets, min, max, abs, sqrt, round.",
      inputSchema: z.object({ expression: z.string() }),
      run: async ({ expression }) => {
        try {
          return { result: calculate(expression) };
        } catch (error) {
          return { error: `cannot work out ${expression}: ${(error as Error).message}` };
        }
      },
    }),
    tide_table: defineTool({
      description:
        "Today's low and high water at a harbour, the height of its sill, and the Moon. Heights in metres above chart datum.",
      inputSchema: z.object({ harbour: z.string() }),
      retry: { attempts: 5, delay: 600 * pace, factor: 2, jitter: false },
      run: async ({ harbour }, { attempt, signal, idempotencyKey }) => {
        const url = `${harbourOffice}/tides?${new URLSearchParams({ harbour }).toString()}`;
        const headers = { "idempotency-key": idempotencyKey, [attemptHeader]: String(attempt) };
        const response = await fetch(url, { headers, signal });
        if (response.status >= 500) throw new Error(`${response.status} from the harbour office`);
        return (await response.json()) as Harbour | { error: string };
      },
    }),
  };
}

/**
 * A tool that validates its input again when it runs, because the input may come from the journal of another
 * version.
 */
function defineTool<S extends z.ZodType>(tool: {
  readonly description: string;
  readonly inputSchema: S;
  readonly retry?: RetryOptions;
  run(input: z.output<S>, info: StepInfo): Promise<ToolOutput>;
}): AgentTool {
  return { ...tool, run: (input, info) => tool.run(tool.inputSchema.parse(input), info) };
}
