/** What Node, Bun and Deno run: `<where the bucket is> <what is asked>`, both as JSON. Prints what it has to tell. */

import { argv } from "node:process";
import { s3Bucket, type S3Options } from "@durable/s3";
import { play, type Asked } from "./story.ts";

const [where = "", asked = ""] = argv.slice(2);
const told = await play(s3Bucket(JSON.parse(where) as S3Options), JSON.parse(asked) as Asked);
console.log(JSON.stringify(told));
