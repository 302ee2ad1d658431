/** Holds the lock of a file: `<path> <BEGIN ...> <ms>`, for so long, or until killed when `ms` is 0. */

import { DatabaseSync } from "node:sqlite";

const [path = "", begin = "BEGIN IMMEDIATE", ms = "0"] = process.argv.slice(2);
const database = new DatabaseSync(path);
database.exec("PRAGMA busy_timeout = 5000");
database.exec(begin);
console.log("locked");
const release = (): void => {
  database.exec("COMMIT");
  console.log("released");
  database.close();
  process.exit(0);
};
if (ms === "0") setInterval(() => {}, 1_000);
else setTimeout(release, Number(ms));
