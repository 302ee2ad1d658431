/**
 * An e-mail of the assistant, and the question whether it may be sent. The question is a wait of the run, and
 * its token is part of the recorded answer: a page that is opened later, or after a crash, shows it as well.
 */

import type { UIMessage } from "ai";
import { useState } from "react";
import { post } from "./server.ts";

type Part = UIMessage["parts"][number];
type MailPart = Extract<Part, { type: `tool-${string}` }>;

interface Mail {
  readonly to?: string;
  readonly subject?: string;
  readonly body?: string;
}

interface MailState {
  readonly status: "asks" | "sent" | "denied";
  readonly token?: string;
}

/** The token of a question that is open; `null` if the part is something else. */
export function openQuestion(part: Part): string | null {
  if (part.type !== "tool-sendEmail" || !("output" in part)) return null;
  const { status, token } = (part.output ?? {}) as Partial<MailState>;
  return status === "asks" && token !== undefined ? token : null;
}

export function MailCard({ part, isLive }: { readonly part: MailPart; readonly isLive: boolean }) {
  const mail = (part.input ?? {}) as Mail;
  const token = openQuestion(part);
  const { kind, text } = standing(part, isLive);
  return (
    <section className="mail" aria-label="E-mail">
      <div className="head">
        <span className={`st ${kind}`}>{text}</span>
      </div>
      <dl>
        <dt>To</dt>
        <dd>{mail.to}</dd>
        <dt>Subject</dt>
        <dd>{mail.subject}</dd>
      </dl>
      <p className="text">{mail.body}</p>
      {token !== null && isLive && <Decision token={token} />}
    </section>
  );
}

function standing(part: MailPart, isLive: boolean): { readonly kind: string; readonly text: string } {
  const { status } = (("output" in part ? part.output : null) ?? {}) as Partial<MailState>;
  if (status === "sent") return { kind: "done", text: "Sent" };
  if (status === "denied") return { kind: "fail", text: "Not sent" };
  if (part.state === "output-error") return { kind: "fail", text: "Not sent: an error occurred" };
  if (!isLive) return { kind: "fail", text: "Not sent: stopped" };
  return status === "asks"
    ? { kind: "waits", text: "Send this e-mail?" }
    : { kind: "runs", text: "Writing an e-mail" };
}

function Decision({ token }: { readonly token: string }) {
  const [given, setGiven] = useState<boolean | null>(null);
  const [isRefused, setRefused] = useState(false);
  const decide = async (allowed: boolean): Promise<void> => {
    setGiven(allowed);
    if (await answer(token, allowed)) return;
    setGiven(null);
    setRefused(true);
  };
  if (given !== null) return <p className="note">{given ? "Allowed" : "Denied"}. Sending your answer…</p>;
  return (
    <div className="actions">
      {isRefused && <p className="note">This question cannot be answered any longer.</p>}
      <button type="button" className="btn" onClick={() => void decide(false)}>
        Deny
      </button>
      <button type="button" className="btn primary" onClick={() => void decide(true)}>
        Allow
      </button>
    </div>
  );
}

/** Answers the wait, as often as the server is away. True if this answer, or an earlier one, counts. */
async function answer(token: string, allowed: boolean): Promise<boolean> {
  for (let delay = 200; ; delay = Math.min(2 * delay, 2_000)) {
    try {
      const { ok, status } = await post(`/api/resume/${token}`, { value: allowed });
      if (status < 500) return ok || status === 409;
    } catch {
      // The server is away.
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}
