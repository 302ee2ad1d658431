/** Parts of the panel of a model call: the tools it could call and called, what it used, and all of it as recorded. */

import type { Plain } from "@durable/core/inspect";
import type { JSX } from "preact";
import type { Row, StepDetail } from "../../src/api.ts";
import type { ChatMessage, ChatPart } from "../lib/chat.ts";
import { cost, duration } from "../lib/format.ts";
import { LongText, Value } from "./value.tsx";

/** The tools that an answer calls, and results that it has. */
export function callsIn(messages: readonly ChatMessage[]): ChatPart[] {
  const answer = messages.findLast(({ role }) => role === "assistant");
  return answer?.parts.filter(({ type }) => type === "call") ?? [];
}

/** The names of the tools that a prompt offers. */
export function toolsOf(prompt: Plain | undefined): string[] {
  if (typeof prompt !== "object" || prompt === null || Array.isArray(prompt)) return [];
  const { tools } = prompt as Readonly<Record<string, Plain>>;
  return Array.isArray(tools) ? (tools as readonly Plain[]).map(String) : [];
}

export function Tools(props: { messages: readonly ChatMessage[]; prompt: Plain | undefined }): JSX.Element {
  const calls = callsIn(props.messages);
  const results = props.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "result"));
  const tools = toolsOf(props.prompt);
  return (
    <>
      {calls.map(({ name, text }, i) => (
        <div key={i} class="msg tool">
          <small>
            <b>{name}</b>
          </small>
          <LongText text={text} />
          {results.filter((result) => result.name === name).length > 0 && (
            <p>
              → <LongText text={results.find((result) => result.name === name)?.text ?? ""} />
            </p>
          )}
        </div>
      ))}
      {calls.length === 0 && <p class="soft">This answer calls no tool.</p>}
      {tools.length > 0 && <p class="soft">It could call: {tools.join(", ")}.</p>}
    </>
  );
}

const whole = (amount: number): string => amount.toLocaleString("en");

export function Usage({ row, spend }: { row: Row; spend: StepDetail["spend"] }): JSX.Element {
  const { usage, inputTokens, outputTokens } = spend;
  const cached = usage.reduce((sum, { cachedInputTokens = 0 }) => sum + cachedInputTokens, 0);
  const fresh = Math.max(0, inputTokens - cached);
  const amounts: readonly (readonly [name: string, amount: number])[] = [
    ["Input, cached", cached],
    ["Input, new", fresh],
    ["Output", outputTokens],
  ];
  const price = spend.cost === null ? "no price is known" : cost(spend.cost) || "$0.00";
  const lines: readonly (readonly [name: string, value: string])[] = [
    ...amounts.filter(([, amount]) => amount > 0).map(([name, amount]) => [name, whole(amount)] as const),
    ["Together", whole(inputTokens + outputTokens)],
    ["Cost", price],
    ...(usage.length < 2
      ? []
      : usage.map(
          (used) => [used.model, `${whole(used.inputTokens)} in, ${whole(used.outputTokens)} out`] as const,
        )),
    ...(row.endedAt === null ? [] : [["Time", duration(row.endedAt - row.startedAt)] as const]),
  ];
  return (
    <>
      <div class="usage-bar" aria-hidden="true">
        <i class="h" style={{ flexGrow: cached }} />
        <i style={{ flexGrow: fresh }} />
        <i class="out" style={{ flexGrow: outputTokens }} />
      </div>
      <table class="usage">
        <caption class="vh">What the call used</caption>
        <tbody>
          {lines.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {row.attempts.some((attempt) => attempt.failed !== undefined) && (
        <p class="soft">With what failed attempts used: every attempt counts.</p>
      )}
    </>
  );
}

interface RawProps {
  readonly row: Row;
  readonly detail: StepDetail;
  readonly chunks: readonly Plain[] | undefined;
  readonly source: { readonly runId: string; readonly key: string };
}

/** The call as it is recorded. */
export function Raw({ row, detail, chunks, source }: RawProps): JSX.Element {
  const { key, kind, status, startedAt, endedAt, attempts, seq } = row;
  const { usage } = detail.spend;
  const about = { key, kind, status, startedAt, endedAt, attempts, seq, usage } as unknown as Plain;
  return (
    <>
      {chunks !== undefined ? (
        <Value
          value={[...chunks]}
          label="the chunks"
          source={{ ...source, field: "chunks" }}
          cuts={detail.cuts}
        />
      ) : (
        "value" in detail && (
          <Value
            value={detail.value ?? null}
            label="the value"
            source={{ ...source, field: "value" }}
            cuts={detail.cuts}
          />
        )
      )}
      <h2>About the call</h2>
      <Value value={about} label="what is known of the call" />
    </>
  );
}
