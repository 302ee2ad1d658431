/** Damages and reads images of a journal: `<seed> <count>`. One line for each, so that a hang shows which one it was. */

import { writeSync } from "node:fs";
import { Images } from "./images.ts";

const [seed = "1", count = "0"] = process.argv.slice(2);
const images = await Images.make(Number(seed));
try {
  for (let n = 0; n < Number(count); n++)
    writeSync(1, `image ${n} ${JSON.stringify(await images.judge(n))}\n`);
} finally {
  images.remove();
}
