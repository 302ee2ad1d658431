/** A step's value in a few words for the screen. */

import type { Health } from "./deployment.ts";
import type { Sent } from "./mailer.ts";
import type { Proposal } from "./plan.ts";
import type { Decision } from "./reply.ts";

export function describe(key: string, value: unknown): string {
  const [name = ""] = key.split("#");
  switch (name) {
    case "plan": {
      const { plan } = value as Proposal;
      return plan === null ? "asks what is missing" : `proposes ${plan.version} to ${plan.environment}`;
    }
    case "mail":
      return (value as Sent).via;
    case "decide":
      return (value as Decision).kind;
    case "take-turn":
      return value === true ? "" : "another deployment is under way";
    case "look":
      return typeof value === "string" ? `live: ${value}` : "nothing is live yet";
    case "copy":
      return String(value);
    case "check":
      return (value as Health).detail;
    default:
      return "";
  }
}
