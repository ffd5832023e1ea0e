import { createServer, type AddressInfo, type Socket } from "node:net";
import type { Scope } from "../e2e/serve-client.ts";

/** A receiving SMTP server that can be scripted to fail. */

interface AcceptedMessage {
  from: string;
  to: string[];
  /** Every octet of the message, with dots unstuffed, as one character each. */
  raw: string;
  /** True if the reply was 250. */
  acknowledged: boolean;
}

/**
 * Returns the action that replaces the usual reply: another reply, "hang" (send nothing further), "drop" (close the
 * connection), or undefined. The command `"."` is the end of a message; `"connect"` precedes the greeting.
 */
export type Misbehavior = (command: string, socket: Socket) => string | undefined;

export interface NextHop {
  port: number;
  /** Complete messages, in order of arrival. */
  taken: AcceptedMessage[];
  commands: string[];
  /** Ends all connections. */
  hangUp(): void;
}

export async function startNextHop(
  t: Scope,
  misbehave: Misbehavior = () => undefined,
  { extensions = ["PIPELINING", "8BITMIME", "SMTPUTF8"] } = {},
): Promise<NextHop> {
  const open = new Set<Socket>();
  const hangUp = () => open.forEach((socket) => socket.destroy());
  const hop: NextHop = { port: 0, taken: [], commands: [], hangUp };
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => {});
    let envelope = { from: "", to: [] as string[] };
    let buffer = "";
    let inData = false;

    /** Returns false if no further input is to be read. */
    function send(response: string): boolean {
      if (response === "drop") socket.destroy();
      else if (response !== "hang") socket.write(`${response}\r\n`);
      return response !== "drop" && response !== "hang";
    }

    function handleCommand(command: string): boolean {
      hop.commands.push(command);
      const verb = command.slice(0, 4).toUpperCase();
      const path = /<([^>]*)>/.exec(command)?.[1] ?? "";
      const response = misbehave(command, socket) ?? ordinary(verb);
      if (verb === "MAIL") envelope = { from: path, to: [] };
      if (verb === "RCPT" && response.startsWith("250")) envelope.to.push(path);
      inData = response.startsWith("354");
      return send(response);
    }

    function ordinary(verb: string): string {
      if (verb === "EHLO")
        return ["250-next.example", ...extensions.map((name) => `250-${name}`), "250 ENHANCEDSTATUSCODES"].join("\r\n");
      if (verb === "DATA" && envelope.to.length === 0) return "503 5.5.1 no valid recipients";
      return verb === "DATA" ? "354 go" : verb === "QUIT" ? "221 2.0.0 bye" : "250 2.0.0 ok";
    }

    function takeMessage(stuffed: string): boolean {
      inData = false;
      const response = misbehave(".", socket) ?? "250 2.0.0 ok";
      hop.taken.push({
        ...envelope,
        raw: stuffed.replace(/(^|\r\n)\.\./g, "$1."),
        acknowledged: response.startsWith("250"),
      });
      return send(response);
    }

    socket.on("data", (chunk) => {
      buffer += chunk.toString("latin1");
      for (;;) {
        // The line ending before the dot is part of the message.
        const end = inData ? (buffer.startsWith(".\r\n") ? -2 : buffer.indexOf("\r\n.\r\n")) : buffer.indexOf("\r\n");
        if (end === -1) return;
        const block = buffer.slice(0, Math.max(0, end + (inData ? 2 : 0)));
        buffer = buffer.slice(end + (inData ? 5 : 2));
        if (!(inData ? takeMessage(block) : handleCommand(block))) return;
      }
    });
    send(misbehave("connect", socket) ?? "220 next.example ESMTP");
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  hop.port = (server.address() as AddressInfo).port;
  t.after(async () => {
    hangUp();
    await new Promise((resolve) => server.close(resolve));
  });
  return hop;
}

/** Returns `how` for the first `times` commands that begin with `what`, then behaves normally. */
export function atFirst(times: number, what: string, how: string): Misbehavior {
  let left = times;
  return (command) => (command.startsWith(what) && left-- > 0 ? how : undefined);
}
