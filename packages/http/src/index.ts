export { createHandler } from "./handler.ts";
export type { Handler, HandlerOptions } from "./options.ts";
export type { Action, Authorize } from "@durable/core";
export type { ActionType } from "@durable/core/types";
export { HttpError, errorResponse } from "./errors.ts";
export type { HttpErrorCode } from "./errors.ts";
export { readForm, readJson } from "./body.ts";
export { defaultLimits } from "./limits.ts";
export type { Limits } from "./limits.ts";
export { openApi } from "./openapi.ts";
export { toJson } from "./to-json.ts";
export type { Json } from "./to-json.ts";
export { startOnce, verifyWebhook, webhook, webhookRunId } from "./webhook.ts";
export type { StartedOnce, Webhook, WebhookHandle, WebhookOptions } from "./webhook.ts";
export { github, slack, standardWebhooks, stripe } from "./webhook-profiles.ts";
export type {
  ProfileOptions,
  Received,
  StandardWebhooksOptions,
  Verified,
  WebhookProfile,
} from "./webhook-profiles.ts";
