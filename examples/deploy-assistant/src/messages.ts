/** The texts of the assistant's mails. The workflow decides who gets them, and with which token. */

import { addressIn, nameIn, oneLine } from "example-mail";
import type { Asked } from "./assistant.ts";
import type { Health } from "./deployment.ts";
import type { Plan, Proposal } from "./plan.ts";

export interface Text {
  readonly kind: string;
  readonly text: string;
  /** True for a question, which goes only to the people who may answer it. */
  readonly asks?: boolean;
}

const how = `Reply to this mail:

    approve   to go ahead
    reject    to call it off
    or say in your own words what should be different.

Nothing happens until then.`;

/** The plan, or the question for what is missing. Only this message asks for an answer. */
export function question(request: Asked, { message, plan, risks }: Proposal, round: number): Text {
  const asker = addressIn(request.from);
  const isForOthers = request.approvers?.some((address) => address !== asker) === true;
  const begin = isForOthers
    ? `${asker} asks for a deployment: ${oneLine(request.subject, 200)}`
    : `Hello ${nameIn(request.from)},`;
  const asking = (kind: string, ...rest: readonly string[]): Text => {
    return { asks: true, kind: `${round}-${kind}`, text: [begin, message, ...rest].join("\n\n") };
  };
  if (plan === null) return asking("question", "Reply to this mail with what is missing, or with: reject");
  const facts = [
    "app       tide-board",
    `release   ${plan.version}`,
    `to        ${plan.environment}`,
    "then      health check over HTTP; roll back if it fails",
    ...risks.map((risk) => `risk      ${risk}`),
  ];
  return asking("plan", facts.map((fact) => `    ${fact}`).join("\n"), how);
}

export function started({ version, environment }: Plan): Text {
  return { kind: "started", text: `Approved. tide-board ${version} goes to ${environment} now.` };
}

/** The last mail of a conversation. */
function last(kind: string, text: string): Text {
  const over = "This conversation is over. For another deployment, please write a new mail.";
  return { kind, text: `${text}\n\n${over}` };
}

export const rejected = last("rejected", "Rejected: nothing was deployed.");
export const expired = last("expired", "There was no answer in time, so nothing was deployed.");
export const gaveUp = last("gave-up", "We do not seem to get any further. Nothing was deployed.");

export function busy({ environment }: Plan): Text {
  const what = `Another deployment to ${environment} is under way and does not end.`;
  return last("busy", `${what} Nothing was deployed.`);
}

/** `before` is the release that was live before this one. */
export function checked({ version, environment }: Plan, health: Health, before: string | null): Text {
  const what = `tide-board ${version} is on ${environment}, and healthy (${health.detail}).`;
  if (health.healthy) return last("deployed", `Done: ${what}`);
  const was = `tide-board ${version} was on ${environment} for a moment, and failed its health check: ${health.detail}.`;
  const now = before === null ? "Nothing is deployed there, as before." : `${before} is back in its place.`;
  return last("rolled-back", `${was}\n\nI rolled back. ${now}`);
}
