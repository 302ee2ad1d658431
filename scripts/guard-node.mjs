// Plain JavaScript that runs on old Nodes too: its job is to say why nothing else would.
const needed = [22, 18];
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  console.error(
    `Node ${process.versions.node} is too old for this workspace, which needs ${needed.join(".")} or newer: ` +
      "run `npm install` (without --ignore-scripts), which brings its own Node, and start this again through npm.",
  );
  process.exit(1);
}
