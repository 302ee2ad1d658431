/** A request for every answer of the routes of schedules. */

import { durable } from "@durable/core";
import { origin, type Lab } from "./lab.ts";

/** Only its name counts: the app of the lab has the workflow. */
const echo = durable("echo", (_ctx, input: unknown) => input);

export function defineDaily({ app }: Lab): Promise<unknown> {
  return app.schedule("daily", echo, { cron: "0 9 * * *", timezone: "Europe/Paris", input: "morning" });
}

export function remove({ handler }: Lab, name: string): Promise<Response> {
  return handler(new Request(`${origin}/schedules/${name}`, { method: "DELETE" }));
}

export async function requestSchedules(lab: Lab): Promise<void> {
  await defineDaily(lab);
  const { get, post } = lab;
  await get("/schedules");
  await get("/schedules?nope=1");
  for (const name of ["daily", "none"]) {
    await get(`/schedules/${name}`);
    for (const change of ["pause", "unpause", "trigger"]) await post(`/schedules/${name}/${change}`);
    await remove(lab, name);
  }
}
