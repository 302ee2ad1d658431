/** What workerd runs to show what it sees of an `AsyncLocalStorage`. */

import { look } from "./context.ts";

const handler = {
  fetch: async (): Promise<Response> => Response.json(await look()),
};

// oxlint-disable-next-line import/no-default-export -- the form of a Worker
export default handler;
