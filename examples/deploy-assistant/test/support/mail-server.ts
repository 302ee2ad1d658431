/** An SMTP server on this machine that can misbehave on request. */

import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

export interface Taken {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
}

export interface MailServerOptions {
  /** How many messages it takes without saying so: the connection just ends. */
  readonly breakOff?: number;
  /** A code, and how many messages are refused with it. */
  readonly refuse?: readonly [code: number, times: number];
  /** Called with a message before its sender gets the confirmation. */
  readonly onMail?: (mail: Taken) => unknown;
  readonly user?: string;
  readonly password?: string;
}

export interface MailServer {
  readonly url: string;
  readonly taken: readonly Taken[];
  readonly refused: number;
  close(): Promise<void>;
}

export async function openMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { user = "", password = "" } = options;
  const [code, times] = options.refuse ?? [0, 0];
  let refused = 0;
  const sockets = new Set<Socket>();
  const taken: Taken[] = [];
  const server = new SMTPServer({
    authOptional: user === "",
    allowInsecureAuth: true,
    hideSTARTTLS: true,
    logger: false,
    onAuth: (auth, _session, callback) => {
      const right = auth.username === user && auth.password === password;
      callback(right ? null : new Error("wrong"), right ? { user } : undefined);
    },
    onData: (stream, session, reply) => {
      const take = async (raw: string): Promise<void> => {
        if (refused < times) {
          refused += 1;
          return reply(Object.assign(new Error("not now"), { responseCode: code }));
        }
        const { mailFrom, rcptTo } = session.envelope;
        const mail = {
          from: mailFrom ? mailFrom.address : "",
          to: rcptTo.map(({ address }) => address),
          raw,
        };
        taken.push(mail);
        await options.onMail?.(mail);
        if (taken.length > (options.breakOff ?? 0)) return reply();
        for (const socket of sockets) socket.destroy();
      };
      // A sender that dies in the middle has sent nothing.
      void text(stream).then(take, () => {});
    },
  });
  // A client that broke off, or that we did.
  server.on("error", () => {});
  server.server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  const login = user === "" ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return {
    url: `smtp://${login}127.0.0.1:${port}`,
    taken,
    get refused() {
      return refused;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}
