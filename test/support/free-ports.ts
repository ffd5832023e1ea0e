import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { createServer } from "node:net";

/** A free port for every listener that has no command line option, so that servers can run in parallel. */
export const FREE_PORTS: Readonly<Record<string, string>> = Object.fromEntries(
  ["DASHBOARD", "DNS", "SUBMISSION", "TLS_HTTPS", "LIVE_RTMP", "LIVE_RTMPS", "LIVE_SRT"].map((name) => [
    `REELPOST_${name}_PORT`,
    "0",
  ]),
);

/**
 * Below the range from which systems assign ports, so that no outbound connection and no listener on port 0 takes the
 * port before the test uses it, or between two starts of a server.
 */
const RANGE = [20_000, 32_000] as const;
const takenPorts = new Set<number>();

/** Resolves with a port that is free for TCP on 127.0.0.1, for a server whose port must be known before it starts. */
export const freePort = (): Promise<number> => takePort(isFree);

/** Like freePort(), for UDP. */
export const freeUdpPort = (): Promise<number> => takePort(isFreeForUdp);

/** Each port is given out once. */
async function takePort(isAvailable: (port: number) => Promise<boolean>): Promise<number> {
  for (;;) {
    const port = randomInt(...RANGE);
    if (takenPorts.has(port)) continue;
    takenPorts.add(port);
    if (await isAvailable(port)) return port;
  }
}

/** Resolves with true if nothing listens on this TCP port of 127.0.0.1. */
export const isFree = (port: number): Promise<boolean> =>
  new Promise<boolean>((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port }, () => server.close(() => resolve(true)));
  });

const isFreeForUdp = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = createSocket("udp4");
    socket.once("error", () => socket.close(() => resolve(false)));
    socket.bind(port, "127.0.0.1", () => socket.close(() => resolve(true)));
  });
