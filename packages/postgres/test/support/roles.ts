/** The roles of the README, and storages that use the lesser one. */

import { readFileSync } from "node:fs";
import { PostgresStorage } from "../../src/index.ts";
import { freshSchema, openSchema, sharedPool, type Opened } from "./open.ts";

/** The SQL of the README, which people copy. */
function roleScript(): string {
  const text = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const block = /## Roles[^]*?\n```sql\n([^]*?)```/.exec(text)?.[1];
  if (block === undefined) throw new Error("The README has no SQL under Roles.");
  return block;
}

export interface Roles {
  readonly schema: string;
  /** The name of the role of the application. */
  readonly app: string;
  /** The addresses of both roles. */
  readonly ownerUrl: string;
  readonly appUrl: string;
}

/** Makes an owner, a role of an application and a schema, with names of their own; `url` is that of a superuser. */
export async function makeRoles(url: string): Promise<Roles> {
  const [schema, owner, app] = [freshSchema(), `o_${freshSchema()}`, `a_${freshSchema()}`];
  const script = roleScript()
    .replaceAll("durable_owner", owner)
    .replaceAll("durable_app", app)
    .replaceAll("SCHEMA durable", `SCHEMA ${schema}`);
  await sharedPool(url).query(script);
  const as = (role: string): string => {
    const address = new URL(url);
    [address.username, address.password] = [role, "secret"];
    return address.href;
  };
  return { schema, app, ownerUrl: as(owner), appUrl: as(app) };
}

const roles = new Map<string, { readonly role: Roles; readonly free: string[] }>();

/** As `openSchema`, under the role of an application, whose rights come from `migrate({ grantTo })`. */
export async function openGranted(url: string): Promise<Opened> {
  let known = roles.get(url);
  if (known === undefined) {
    const role = await makeRoles(url);
    known = { role, free: [] };
    roles.set(url, known);
  }
  const { role, free } = known;
  const place = openSchema(url, free);
  // A superuser makes the schemas of later tests: the owner has a right to one schema.
  await PostgresStorage.migrate({ pool: sharedPool(url), schema: place.schema }, { grantTo: role.app });
  const pool = sharedPool(role.appUrl);
  return { ...place, open: (options) => place.open({ ...options, pool, migrate: false }) };
}
