/** What Node, Bun and Deno run to show what they see of an `AsyncLocalStorage`. */

import { look } from "./context.ts";

console.log(JSON.stringify(await look()));
