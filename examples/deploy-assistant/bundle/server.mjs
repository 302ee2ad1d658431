// The bundled app: today's tides on a page, and /health. It knows its release by the file beside it.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const release = JSON.parse(readFileSync(new URL("release.json", import.meta.url), "utf8"));

const server = createServer((request, response) => {
  const send = (status, type, text) => response.writeHead(status, { "content-type": type }).end(text);
  if (request.url === "/health") {
    const healthy = Array.isArray(release.tides) && release.tides.length > 0;
    const reason = healthy ? undefined : "the tide table is missing";
    send(
      healthy ? 200 : 503,
      "application/json",
      JSON.stringify({ version: release.version, healthy, reason }),
    );
  } else {
    const rows = (release.tides ?? []).map(({ time, height }) => `${time}  ${height.toFixed(1)} m`);
    send(200, "text/plain; charset=utf-8", [`tide-board ${release.version}`, ...rows, ""].join("\n"));
  }
});

server.listen(Number(process.env.PORT ?? 8080), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});

// Whoever started us to have a look holds our input: when they have gone, so have we.
if (process.env.ENDS_WITH_INPUT === "1") process.stdin.on("end", () => process.exit()).resume();
