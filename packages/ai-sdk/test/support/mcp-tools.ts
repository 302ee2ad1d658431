/** Tools of the MCP server in tests: one for each kind of result. */

import type { ServedTool } from "./mcp-server.ts";

export const number = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
export const text = (said: string): object => ({ content: [{ type: "text", text: said }] });
const pixel = "iVBORw0KGgo=";

export const tools: Readonly<Record<string, ServedTool>> = {
  add: {
    title: "Adder",
    description: "Adds one.",
    inputSchema: number,
    annotations: { readOnlyHint: true },
    call: ({ n }) => ({ ...text(`${Number(n) + 1}`), structuredContent: { sum: Number(n) + 1 } }),
  },
  draw: {
    description: "Draws.",
    call: () => ({
      content: [
        { type: "text", text: "a dot" },
        { type: "image", data: pixel, mimeType: "image/png" },
        { type: "audio", data: pixel, mimeType: "audio/wav" },
        { type: "resource_link", uri: "file:///a.txt", name: "a.txt" },
      ],
    }),
  },
  fail: { description: "Fails politely.", call: () => ({ ...text("out of paper"), isError: true }) },
  break: {
    description: "Breaks.",
    call: () => {
      throw new Error("the printer is on fire");
    },
  },
  quiet: { description: "Says nothing.", call: () => ({ content: [] }) },
};
