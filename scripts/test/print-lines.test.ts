import { expect, test } from "vitest";
import { printLines } from "../lib/print-lines.ts";

const source = `
// src/a.ts
/** A comment. */
var limits = { /** Another one. */ text: "  two  spaces // kept", more: \`a
  \${1 + 1}
    b\`, size: 100000, longEnough: "x".repeat(3), andMore: [1, 2, 3], andEven: "more" };
function first(count) {
  if (count > 2) return;
  for (let i = 0; i < count; i += 1) { i.toFixed(); }
  throw new Error(\`not \${count}\`);
}
class Second { #kept = 1; static { Second.made = true; } get kept() { switch (this.#kept) { case 1: return "one"; default: return "other"; } } }
export { first, limits, Second };
`;

test("each statement, member and property of a long object has a line, without comments and with its name", async () => {
  expect((await printLines(source)).trimEnd().split("\n")).toEqual([
    "var limits={",
    '\ttext:"  two  spaces // kept",',
    "\tmore:`a",
    "  ${1+1}",
    "    b`,",
    "\tsize:1e5,",
    '\tlongEnough:"x".repeat(3),',
    "\tandMore:[1,2,3],",
    '\tandEven:"more"};',
    "function first(count){",
    "\tif(count>2)return;",
    "\tfor(let i=0;i<count;i+=1){",
    "\t\ti.toFixed()}",
    "\tthrow new Error(`not ${count}`)}",
    "class Second{",
    "\t#kept=1;",
    "\tstatic{",
    "\t\tSecond.made=true}",
    "\tget kept(){",
    "\t\tswitch(this.#kept){",
    "\t\t\tcase 1:",
    '\t\t\t\treturn"one";',
    "\t\t\tdefault:",
    '\t\t\t\treturn"other"}}}',
    "export{Second,first,limits};",
  ]);
});

test("the stack trace of an error names the function, and its line is the statement", async () => {
  const text = await printLines(source);
  const made = (await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(text)}`)) as {
    first: (count: number) => void;
  };
  const error = await Promise.resolve(1)
    .then(made.first)
    .catch((thrown: unknown) => thrown);
  const [, line] = /at first \(.*:(\d+):\d+\)/.exec(String((error as Error).stack)) ?? [];
  expect(text.split("\n")[Number(line) - 1]?.trim()).toBe("throw new Error(`not ${count}`)}");
});

test("the first line of a command stays the first", async () => {
  expect(await printLines("#!/usr/bin/env node\n// Starts.\nstart();\n")).toBe(
    "#!/usr/bin/env node\nstart();\n",
  );
});
