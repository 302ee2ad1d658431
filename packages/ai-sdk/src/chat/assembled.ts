/**
 * The message that the parts of a stream make, as clients of the SDK 7 assemble it. A part that fits nothing is left out: a
 * journal may have been cut or edited. Proven in test/chat-history.test.ts, part by part against the SDK.
 */

import type { Part } from "../chunks.ts";
import type { Message } from "./asked.ts";
import { plain } from "./prior.ts";
import { merged } from "./viewer.ts";

type Fields = Record<string, unknown>;

/** The message after these parts; `before` is the one that they continue. */
export function assembled(id: string, parts: readonly Part[], before: Message | null): Message {
  const assembly = new Assembly((before?.parts ?? []) as readonly Fields[], before?.metadata);
  for (const part of parts) assembly.add(part);
  const { metadata } = assembly;
  return { id, role: "assistant", ...(metadata === undefined ? {} : { metadata }), parts: assembly.parts };
}

class Assembly {
  parts: Fields[];
  metadata: unknown;
  /** Texts that are being written, by kind and id. */
  #open = new Map<string, Fields>();

  constructor(before: readonly Fields[], metadata: unknown) {
    this.parts = before.map((part) => ({ ...part }));
    this.metadata = metadata;
  }

  add(part: Part): void {
    const { type } = part;
    const [, kind = "", event] = /^(text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
    if (event !== undefined) return this.#text(kind, event, part);
    if (type.startsWith("tool-")) return this.#tool(part);
    if (type.startsWith("data-")) return this.#data(part);
    if (type === "start-step") this.parts.push({ type: "step-start" });
    else if (type === "reset-step") this.#reset();
    else if (plain.has(type)) this.parts.push({ type, ...picked(part, plain.get(type) ?? []) });
    if ("messageMetadata" in part && part["messageMetadata"] !== null)
      this.metadata = merged(this.metadata, part);
  }

  #text(kind: string, event: string, { id, delta, providerMetadata, citations }: Part): void {
    const name = `${kind} ${String(id)}`;
    const known = this.#open.get(name);
    const about = isSet(providerMetadata) ? { providerMetadata } : {};
    if (event === "start") {
      const text: Fields = {
        type: kind,
        ...(kind === "reasoning" ? { id } : {}),
        text: "",
        ...about,
        state: "streaming",
      };
      this.#open.set(name, text);
      this.parts.push(text);
    } else if (known !== undefined && event === "delta") {
      Object.assign(known, { text: `${String(known["text"])}${String(delta)}` }, about);
    } else if (known !== undefined) {
      Object.assign(known, { state: "done" }, isSet(citations) ? { citations } : {}, about);
      this.#open.delete(name);
    }
  }

  #data({ type, id, data, transient }: Part): void {
    if (transient === true) return;
    const known = isSet(id)
      ? this.parts.find((part) => part["type"] === type && part["id"] === id)
      : undefined;
    if (known !== undefined) known["data"] = data;
    else this.parts.push({ type, ...(id === undefined ? {} : { id }), data });
  }

  #reset(): void {
    this.#open.clear();
    this.parts.splice(this.#stepAt);
  }

  /** Where the parts of the current step begin. */
  get #stepAt(): number {
    return this.parts.findLastIndex(({ type }) => type === "step-start") + 1;
  }

  #tool(part: Part): void {
    const event = part.type.slice("tool-".length);
    if (event.startsWith("input-")) return this.#input(event, part);
    const call = this.#call(part);
    if (call === undefined) return;
    if (event === "approval-request") {
      const { reason, approvalDescriptor: descriptor } = part;
      const approval = {
        id: part["approvalId"],
        ...(isSet(descriptor) ? { descriptor } : {}),
        ...("inputSchemaInput" in part ? picked(part, ["inputSchemaInput"]) : {}),
        ...(isSet(reason) ? { requestReason: reason } : {}),
        ...(part["isAutomatic"] === true ? { isAutomatic: true } : {}),
        ...picked(part, ["signature"]),
      };
      Object.assign(call, { state: "approval-requested", approval });
    } else if (event === "approval-response") {
      const approval = { ...(call["approval"] as Fields), ...picked(part, ["approved", "reason"]) };
      Object.assign(call, { state: "approval-responded", approval }, picked(part, ["providerExecuted"]));
      if (isSet(part["providerMetadata"])) call["callProviderMetadata"] = part["providerMetadata"];
    } else this.#outcome(event, call, part);
  }

  #outcome(event: string, call: Fields, part: Part): void {
    if (event === "output-denied") {
      call["state"] = "output-denied";
      return;
    }
    const isError = event === "output-error";
    delete call[isError ? "output" : "errorText"];
    delete call["preliminary"];
    delete call["inputEncoding"];
    if (!isError || call["type"] === "dynamic-tool") delete call["rawInput"];
    Object.assign(
      call,
      { state: event },
      picked(part, ["output", "errorText", "preliminary", "providerExecuted", "toolMetadata"]),
      isSet(part["providerMetadata"]) ? { resultProviderMetadata: part["providerMetadata"] } : {},
    );
  }

  #input(event: string, part: Part): void {
    const known = this.parts
      .slice(this.#stepAt)
      .find((one) => isTool(one) && one["toolCallId"] === part["toolCallId"]);
    if (event === "input-delta") {
      if (known === undefined) return;
      const text = `${typeof known["rawInput"] === "string" ? known["rawInput"] : ""}${String(part["inputTextDelta"])}`;
      known["rawInput"] = text;
      const input = known["inputEncoding"] === "text" ? text : parsed(text);
      if (input !== undefined) known["input"] = input;
      return;
    }
    const isDynamic = known === undefined ? part["dynamic"] === true : known["type"] === "dynamic-tool";
    const call: Fields = known ?? {};
    if (known === undefined) this.parts.push(call);
    delete call["rawInput"];
    if (event !== "input-start") delete call["inputEncoding"];
    Object.assign(
      call,
      isDynamic
        ? { type: "dynamic-tool", toolName: part["toolName"] }
        : { type: `tool-${String(part["toolName"])}` },
      { toolCallId: part["toolCallId"], state: stateAfter(event) },
      picked(part, ["title", "toolMetadata", "input", "errorText", "providerExecuted", "inputEncoding"]),
    );
    const name = event === "input-error" ? "resultProviderMetadata" : "callProviderMetadata";
    if (isSet(part["providerMetadata"])) call[name] = part["providerMetadata"];
  }

  #call({ toolCallId, approvalId, type }: Part): Fields | undefined {
    return this.parts.findLast((part) =>
      type === "tool-approval-response"
        ? isTool(part) && (part["approval"] as Fields | undefined)?.["id"] === approvalId
        : isTool(part) && part["toolCallId"] === toolCallId,
    );
  }
}

function stateAfter(event: string): string {
  if (event === "input-start") return "input-streaming";
  return event === "input-error" ? "output-error" : "input-available";
}

function picked(part: Fields, names: readonly string[]): Fields {
  const given = names.filter(
    (name) => part[name] !== undefined && (part[name] !== null || name === "output" || name === "input"),
  );
  return Object.fromEntries(given.map((name) => [name, part[name]]));
}

/** The input of a call as far as it came: `undefined` while it is not JSON that can be read. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function isTool({ type }: Readonly<Fields>): boolean {
  return typeof type === "string" && (type === "dynamic-tool" || type.startsWith("tool-"));
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
