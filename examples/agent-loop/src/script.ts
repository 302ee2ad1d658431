/**
 * The script of the offline model. It reads the prompt like a real model: numbers and file names come from
 * the tool results in it, so the answer is correct only if the tools were called.
 */

import { questionOf, toolResultsOf, type Reply, type Script, type ToolResult } from "example-llm";
import type { Harbour } from "./harbour-office.ts";
import type { Hit } from "./search.ts";

export const defaultQuestion =
  "My boat draws 1.6 m. How much water will be under its keel over the sill of Kestrel Cove, three hours after low water, and why is the range so large today?";

export const script: Script = (prompt) => {
  const results = toolResultsOf(prompt);
  const question = questionOf(prompt);
  return question === defaultQuestion ? boat(results) : anything(question, results);
};

/**
 * The default question: rule and reason from the library, heights from the office, arithmetic by the
 * calculator.
 */
function boat(results: readonly ToolResult[]): Reply {
  const hits = hitsIn(results);
  const [table] = valuesOf<Harbour>(results, "tide_table");
  const [height, clearance] = valuesOf<{ result: number }>(results, "calculate");
  if (hits.length === 0) {
    return {
      text: "Low and high water alone do not say how high the tide stands in between. I will look up how to tell, and how heights relate to a sill.",
      calls: [
        {
          tool: "search",
          input: { query: "height of tide between low water and high water, depth over a sill" },
        },
      ],
    };
  }
  if (table === undefined) {
    return {
      text: "There is a rule for that. Now I need today's tide at Kestrel Cove, and the reason for a large range.",
      calls: [
        { tool: "tide_table", input: { harbour: "Kestrel Cove" } },
        { tool: "search", input: { query: "why the range is large after full moon" } },
      ],
    };
  }
  const { sill, lowWater, highWater, moon } = table;
  if (height === undefined) {
    return {
      text: "Three hours after low water, 1 + 2 + 3 twelfths of the range have come in.",
      calls: [
        {
          tool: "calculate",
          input: {
            expression: `${lowWater.height} + (1 + 2 + 3) / 12 * (${highWater.height} - ${lowWater.height})`,
          },
        },
      ],
    };
  }
  if (clearance === undefined) {
    return {
      text: "From that height, take the sill and the draught.",
      calls: [{ tool: "calculate", input: { expression: `${height.result} - ${sill} - 1.6` } }],
    };
  }
  const cite = (file: string): string => (hits.some((hit) => hit.file === file) ? ` [${file}]` : "");
  return {
    text: [
      `About ${clearance.result} m. Three hours after low water half the range has come in, and the tide stands ${height.result} m above chart datum${cite("rule-of-twelfths.md")}.`,
      `The sill takes ${sill} m of that and your boat 1.6 m${cite("chart-datum.md")}, so you would pass, with less than the half metre that careful skippers keep: half an hour later is better.`,
      `The range is large because the Moon was ${moon}: Sun and Moon pull in line, and the sea answers a day or two late${cite("spring-and-neap.md")}.`,
    ].join(" "),
  };
}

/** Any other question: an excerpt of the library, and nothing more. */
function anything(question: string, results: readonly ToolResult[]): Reply {
  if (!results.some(({ tool }) => tool === "search")) {
    return {
      text: "I will see what the library has on this.",
      calls: [{ tool: "search", input: { query: question } }],
    };
  }
  const [best] = hitsIn(results);
  return best === undefined
    ? { text: "The library has nothing on this, and an offline model knows nothing else." }
    : { text: `I am only a script, but the library says: ${best.excerpt} [${best.file}]` };
}

function hitsIn(results: readonly ToolResult[]): Hit[] {
  return valuesOf<{ hits: readonly Hit[] }>(results, "search").flatMap(({ hits }) => hits);
}

function valuesOf<T>(results: readonly ToolResult[], tool: string): T[] {
  return results.filter((result) => result.tool === tool).map(({ value }) => value as T);
}
