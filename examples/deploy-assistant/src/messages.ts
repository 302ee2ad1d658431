/** The texts of the assistant's mails. The workflow decides who gets them, and with which token. */

import type { Health } from "./deployment.ts";
import type { Asked } from "./assistant.ts";
import { nameIn, oneLine } from "./email.ts";
import { senderOf } from "./people.ts";
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
  const { from, subject, approvers } = request;
  const asker = senderOf(request);
  const lines = [`Hello ${nameIn(from)},`, message];
  if (approvers?.some((address) => address !== asker))
    lines[0] = `${asker} asks for a deployment: ${oneLine(subject, 200)}`;
  if (plan === null)
    return {
      asks: true,
      kind: `${round}-question`,
      text: [...lines, "Reply to this mail with what is missing, or with: reject"].join("\n\n"),
    };
  const facts = [
    ["app", "tide-board"],
    ["release", plan.version],
    ["to", plan.environment],
    ["then", "health check over HTTP; roll back if it fails"],
    ...risks.map((risk) => ["risk", risk]),
  ];
  const table = facts.map(([name = "", value = ""]) => `    ${name.padEnd(10)}${value}`).join("\n");
  return { asks: true, kind: `${round}-plan`, text: [...lines, table, how].join("\n\n") };
}

export function started({ version, environment }: Plan): Text {
  return { kind: "started", text: `Approved. tide-board ${version} goes to ${environment} now.` };
}

export function deployed({ version, environment }: Plan, health: Health): Text {
  return {
    kind: "deployed",
    text: `Done: tide-board ${version} is on ${environment}, and healthy (${health.detail}).\n\n${over}`,
  };
}

export function rolledBack({ version, environment }: Plan, health: Health, live: string | null): Text {
  const now = live === null ? "Nothing is deployed there, as before." : `${live} is back in its place.`;
  return {
    kind: "rolled-back",
    text: `tide-board ${version} was on ${environment} for a moment, and failed its health check: ${health.detail}.\n\nI rolled back. ${now}\n\n${over}`,
  };
}

export function rejected(): Text {
  return { kind: "rejected", text: `Rejected: nothing was deployed.\n\n${over}` };
}

export function expired(): Text {
  return { kind: "expired", text: `There was no answer in time, so nothing was deployed.\n\n${over}` };
}

export function busy({ environment }: Plan): Text {
  return {
    kind: "busy",
    text: `Another deployment to ${environment} is under way and does not end. Nothing was deployed.\n\n${over}`,
  };
}

export function gaveUp(): Text {
  return { kind: "gave-up", text: `We do not seem to get any further. Nothing was deployed.\n\n${over}` };
}

const over = "This conversation is over. For another deployment, please write a new mail.";
