export { createHandler } from "./handler.ts";
export type { Action, ActionType, Authorize, Handler, HandlerOptions } from "./options.ts";
export { HttpError, errorResponse } from "./errors.ts";
export type { HttpErrorCode } from "./errors.ts";
export { readForm, readJson } from "./body.ts";
export { defaultLimits } from "./limits.ts";
export type { Limits } from "./limits.ts";
export { openApi } from "./openapi.ts";
export { startOnce } from "./start-once.ts";
export type { StartedOnce } from "./start-once.ts";
export { toJson } from "./to-json.ts";
export type { Json } from "./to-json.ts";
export { verifyWebhook, webhook, webhookRunId } from "./webhook.ts";
export type { Webhook, WebhookHandle, WebhookOptions } from "./webhook.ts";
export { github, slack, standardWebhooks, stripe } from "./profiles.ts";
export type {
  ProfileOptions,
  Received,
  StandardWebhooksOptions,
  Verified,
  WebhookProfile,
} from "./profiles.ts";
