/** The description of the handler, from the handler. */

import { json } from "./errors.ts";
import { openApi } from "./openapi.ts";
import { type Call, refuse, type Service } from "./options.ts";

export async function describe(service: Service, { request }: Call): Promise<Response> {
  return (await refuse(service, request, { type: "describe" })) ?? json(200, openApi(service));
}
