/** Random bodies, origins and cuts of signed messages, each judged by rules of its own. */

import { expect, inject, test } from "vitest";
import { attackBodies, attackOrigins, attackWebhooks } from "./support/random-attacks.ts";

const times = inject("full") ? 10 : 1;

test("H64 random bodies: each over a limit is refused in time, each within the limits is taken", async () => {
  const { problems, ends } = await attackBodies({ count: 60 * times, seed: 5 });
  expect(problems).toEqual([]);
  for (const end of ["202", "400", "413"]) expect(ends[end], end).toBeGreaterThan(0);
});

test("random origins: a page of another origin changes nothing", async () => {
  const { problems, ends } = await attackOrigins({ count: 400 * times, seed: 5 });
  expect(problems).toEqual([]);
  for (const end of ["202", "403"]) expect(ends[end], end).toBeGreaterThan(0);
});

test("H63 a signed message that is cut at another dot is not another message", async () => {
  const { problems, ends } = await attackWebhooks({ count: 500 * times, seed: 5 });
  expect(problems).toEqual([]);
  for (const end of ["itself", "refused"]) expect(ends[end], end).toBeGreaterThan(0);
});
