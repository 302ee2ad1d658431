/** Serves static files on the loopback interface, as any server of static files would: for `npm run site` and for tests. */
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize, sep } from "node:path";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

export interface SiteServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveSite(folder: string, port: number): Promise<SiteServer> {
  const server = createServer((request, response) => {
    const file = fileOf(folder, new URL(request.url ?? "/", "http://localhost").pathname);
    const status = file === null ? 404 : 200;
    const sent = file ?? fileOf(folder, "/404");
    response.writeHead(status, {
      "content-type": types[extname(sent ?? "")] ?? "application/octet-stream",
      "x-content-type-options": "nosniff",
    });
    if (sent === null) response.end();
    else createReadStream(sent).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The file of an address: itself, with `.html`, or the index of its folder. Nothing outside of the folder. */
function fileOf(folder: string, pathname: string): string | null {
  const path = join(folder, normalize(decodeURIComponent(pathname)));
  if (!path.startsWith(folder + sep)) return path === folder ? join(folder, "index.html") : null;
  const found = [path, `${path}.html`, join(path, "index.html")].find(
    (file) => existsSync(file) && statSync(file).isFile(),
  );
  return found ?? null;
}
