/** Standard Schema (zod, valibot, arktype, ...): its types, validation, and JSON Schema for forms. */

import { describeError } from "./errors.ts";
import { scrub } from "./scrub.ts";

/**
 * Standard Schema (zod, valibot, arktype and others): validation, types, and JSON Schema where the library
 * has it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: { readonly input?: (options: { target: string }) => unknown } | undefined;
  };
}

/** The result of a validation: the value, or the issues. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One reason why a value does not fit a schema. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The type that a schema accepts. */
export type SchemaInput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["input"];
/** The type that a schema produces. */
export type SchemaOutput<S extends StandardSchema> = NonNullable<S["~standard"]["types"]>["output"];

/** Runs a schema, if there is one; `issues` is a readable list such as "amount: expected number". */
export async function validate(
  schema: StandardSchema | null | undefined,
  value: unknown,
): Promise<{ ok: true; value: unknown } | { ok: false; issues: string }> {
  if (schema === null || schema === undefined) return { ok: true, value };
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, issues: result.issues.map(describeIssue).join("; ") };
}

/** Like `validate`; a value whose check throws does not fit. */
export const fits: typeof validate = (schema, value) =>
  validate(schema, value).catch((error: unknown) => ({ ok: false, issues: describeError(error) }));

function describeIssue(issue: SchemaIssue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
  return scrub(path === "" ? issue.message : `${path}: ${issue.message}`);
}

/** The schema as JSON Schema, if its library can produce it, so that a page can show a form. */
export function toJsonSchema(schema: StandardSchema | undefined): unknown {
  try {
    const form = schema?.["~standard"].jsonSchema?.input?.({ target: "draft-2020-12" });
    // The object of the library may contain more than JSON, and it is written into an entry without encoding.
    return JSON.parse(scrub(JSON.stringify(form ?? null))) as unknown;
  } catch {
    // A schema with a transform has no JSON Schema. The suspend point is then shown without a form.
    return null;
  }
}
