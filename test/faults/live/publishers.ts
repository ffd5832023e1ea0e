import { spawn } from "node:child_process";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { Scope } from "../../e2e/serve-client.ts";
import type { Input } from "./server.ts";

export interface Publisher {
  pid: number;
  ended: Promise<number | null>;
  words(): string;
  /** Ends the broadcast normally, as users do. */
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Suspends the process, and its connection with it. */
  freeze(): void;
}

/** Publishes with ffmpeg. `speed` is relative to real time. */
export function push(
  t: Scope,
  file: string,
  target: string[],
  { options = [], speed = 1 }: { options?: string[]; speed?: number } = {},
): Publisher {
  const child = spawn(
    "ffmpeg",
    [
      "-hide_banner",
      "-loglevel",
      "warning",
      "-nostdin",
      "-readrate",
      String(speed),
      "-i",
      file,
      "-c",
      "copy",
      ...options,
      ...target,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(-4096)));
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  t.after(() => end("SIGKILL"));
  return {
    pid: child.pid!,
    ended,
    words: () => words,
    stop: () => end("SIGINT"),
    kill: () => end("SIGKILL"),
    freeze: () => void child.kill("SIGSTOP"),
  };
}

export const rtmp = ({ rtmp: { url, streamKey } }: Input): string[] => ["-f", "flv", `${url}${streamKey}`];
export const srt = ({ srt: { url, streamId, passphrase } }: Input): string[] => [
  "-f",
  "mpegts",
  `${url}?streamid=${streamId}&passphrase=${passphrase}`,
];
export const rtmpPort = ({ rtmp }: Input): number => Number(new URL(rtmp.url).port);

/** Opens a proxy to a port that can go silent in both directions, as if a cable had been unplugged. */
export async function openCuttableProxy(t: Scope, port: number): Promise<{ port: number; cut(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect({ port, host: "127.0.0.1" });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => to.write(bytes)).on("error", () => {});
      from.on("close", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      for (const socket of sockets) socket.pause().removeAllListeners("data").removeAllListeners("close");
    },
  };
}
