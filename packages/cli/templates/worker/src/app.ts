import { createApp, durable } from "@durable/core";
import { PostgresStorage } from "@durable/postgres";

const { DATABASE_URL, RESUME_SECRET } = process.env;
if (DATABASE_URL === undefined || RESUME_SECRET === undefined)
  throw new Error("Set DATABASE_URL and RESUME_SECRET. See README.md.");

/** Stands for a model: replace it by a call of yours. */
const model = async (prompt: string): Promise<string> => {
  await new Promise((resolve) => setTimeout(resolve, 500));
  return prompt.toUpperCase();
};

export const report = durable("report", async (ctx, topic: string) => {
  const parts: string[] = [];
  for (const part of ["facts", "figures", "sources", "summary"]) {
    parts.push(await ctx.step(part, () => model(`${part} of ${topic}`)));
    ctx.report({ done: parts.length });
  }
  return parts;
});

export const app = createApp({
  workflows: [report],
  storage: new PostgresStorage(DATABASE_URL),
  secret: RESUME_SECRET,
  lease: "10s",
});
