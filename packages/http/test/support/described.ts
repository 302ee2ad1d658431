/** A handler whose responses are all checked against the description it serves. */

import { type Handler, openApi } from "@durable/http";
import { problems, resolve } from "./schema.ts";

type Part = Readonly<Record<string, unknown>>;

/** Operations and statuses that were met, as "get /runs 200". */
export const met = new Set<string>();

/** Throws when a response is not described: unknown operation, status, media type or shape. */
export function described(handler: Handler, basePath = ""): Handler {
  const document = openApi({ basePath });
  return async (request) => {
    const response = await handler(request);
    await check(document, request, { response, basePath });
    return response;
  };
}

async function check(
  document: Part,
  request: Request,
  { response, basePath }: { response: Response; basePath: string },
): Promise<void> {
  const path = new URL(request.url).pathname.slice(basePath.length);
  const method = request.method === "HEAD" ? "get" : request.method.toLowerCase();
  const paths = document["paths"] as Record<string, Record<string, Part>>;
  const found = Object.keys(paths).find((template) => matches(template, path));
  const operation = found === undefined ? undefined : paths[found]?.[method];
  // Other paths and methods must be answered with errors.
  const responses = (operation?.["responses"] ?? {
    default: { $ref: "#/components/responses/Error" },
  }) as Part;
  const name = `${method} ${found ?? path} ${response.status}`;
  const expected = (responses[response.status] ?? responses["default"]) as Part;
  const answer = typeof expected["$ref"] === "string" ? resolve(expected["$ref"], document) : expected;
  if (answer === undefined) throw new Error(`${name} is not described`);
  if (operation !== undefined)
    met.add(`${method} ${found} ${responses[response.status] ? response.status : "default"}`);
  if (request.method === "HEAD" || answer["content"] === undefined) {
    if (response.body !== null) throw new Error(`${name} has a body`);
    return;
  }
  const type = (response.headers.get("content-type") ?? "").split(";", 1)[0] ?? "";
  const content = (answer["content"] as Record<string, { schema: Part }>)[type];
  if (content === undefined) throw new Error(`${name} is not described as ${type}`);
  if (type !== "application/json") return;
  const wrong = problems(await response.clone().json(), content.schema, document);
  if (wrong.length > 0) throw new Error(`${name} is not as described: ${wrong.join("; ")}`);
}

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
}
