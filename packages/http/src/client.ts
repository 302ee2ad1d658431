/** A client of the handler, typed by the app, without dependencies: for pages and for other servers. */

export { Client, ClientRun, createClient } from "./client/client.ts";
export type { ClientAnswer, ClientPage, ClientQuery, ClientStart, ResultOptions } from "./client/client.ts";
export type { Part } from "./client/parts.ts";
export { ClientError } from "./client/requests.ts";
export type { ClientErrorCode, ClientOptions } from "./client/requests.ts";
export type { ClientOutcome, ClientRow, ClientSent, ClientWait, JsonOf, Reason } from "./client/types.ts";
