import { spawn } from "node:child_process";

interface Load {
  port: number;
  from: string;
  to: string;
  messages: number;
  sessions: number;
  /** Size of each message in octets, or a file that is sent unchanged. */
  content: { size: number } | { file: string };
  /** Default: one connection per message. */
  keepAlive?: boolean;
}

/**
 * Sends this many messages with Postfix's smtp-source; resolves with the milliseconds until the last one was accepted.
 * Rejects if a message was not accepted.
 */
export function sendAll({ port, from, to, messages, sessions, content, keepAlive = false }: Load): Promise<number> {
  const what = "file" in content ? ["-F", content.file] : ["-l", String(content.size)];
  const args = [
    "-s",
    String(sessions),
    "-m",
    String(messages),
    ...what,
    ...(keepAlive ? ["-d"] : []),
    "-f",
    from,
    "-t",
    to,
    `127.0.0.1:${port}`,
  ];
  const started = performance.now();
  const child = spawn("smtp-source", args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0
        ? resolve(performance.now() - started)
        : reject(new Error(`smtp-source: ${said.trim().slice(0, 500)}`)),
    );
  });
}
