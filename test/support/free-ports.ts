import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** A free port for every listener that has no command line option, so that servers can run in parallel. */
export const FREE_PORTS: Readonly<Record<string, string>> = Object.fromEntries(
  ["DASHBOARD", "DNS", "SUBMISSION", "TLS_HTTPS", "LIVE_RTMP", "LIVE_RTMPS", "LIVE_SRT"].map((name) => [
    `REELPOST_${name}_PORT`,
    "0",
  ]),
);

/**
 * Resolves with a free port, for settings that must be known before the server starts. The port is below those that the
 * system assigns to connections, so that none takes it before the start or during a restart of the server.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (await isFree(port)) return port;
  }
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(false))
      .listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
