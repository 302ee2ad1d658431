// Says why nothing would work on an old Node. Runs before the demo and the tests.
import { isTooOld, neededNode } from "./node-version.mjs";

if (isTooOld(process.versions.node)) {
  console.error(
    `Node ${process.versions.node} is too old for this workspace, which needs ${neededNode} or newer. ` +
      "Run `npm install` without --omit=optional, which installs a Node for the common platforms, and start this through npm.",
  );
  process.exit(1);
}
