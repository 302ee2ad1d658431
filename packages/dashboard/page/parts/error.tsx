/** A recorded error: what, why, and the causes below it. */

import type { Plain } from "@durable/core/inspect";
import type { JSX } from "preact";
import { Value } from "./value.tsx";

type Fields = Readonly<Record<string, Plain>>;

export function ErrorView({ error, depth = 0 }: { error: Plain; depth?: number }): JSX.Element {
  if (typeof error !== "object" || error === null || Array.isArray(error) || !("message" in error))
    return <Value value={error} label="the error" />;
  const { name, code, message, details, stack, cause, errors } = error as Fields;
  const causes = [cause, ...(Array.isArray(errors) ? errors : [])].filter(
    (each) => each !== undefined && each !== null,
  );
  const frames = typeof stack === "string" ? framesOf(stack) : "";
  return (
    <div class="error">
      <p>
        <b>{shown(name ?? "Error")}</b>
        {code !== undefined && <span class="tag">{shown(code)}</span>}
      </p>
      <p class="text">{shown(message ?? null)}</p>
      {details !== undefined && <Value value={details} label="details" />}
      {frames !== "" && (
        <details>
          <summary>Stack</summary>
          <pre>{frames}</pre>
        </details>
      )}
      {depth < 16 &&
        causes.map((each, i) => (
          <div key={i} class="cause">
            <small>caused by</small>
            <ErrorView error={each as Plain} depth={depth + 1} />
          </div>
        ))}
    </div>
  );
}

/** These fields are texts, unless the journal is hostile. */
function shown(value: Plain): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The message is shown already. */
function framesOf(stack: string): string {
  const lines = stack.split("\n");
  const first = lines.findIndex((line) => /^\s+at /.test(line));
  return first === -1
    ? ""
    : lines
        .slice(first)
        .map((line) => line.trim())
        .join("\n");
}
