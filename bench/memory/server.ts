import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { programForTests } from "../../scripts/test/program.ts";
import type { BenchContext } from "../harness/bench.ts";
import { startServerProcess, type ServerProcess } from "../harness/server-process.ts";

const root = join(import.meta.dirname, "..", "..");
const control = join(import.meta.dirname, "control.mjs");

/** Octets after a garbage collection. */
export interface Memory {
  /** Live objects and buffers of V8: the same for every run of the same work. */
  live: number;
  /** Anonymous memory of the process, which no file backs, including the free space between objects. */
  anonymous: number;
}

export interface MeasuredServer extends ServerProcess {
  smtpPort: number;
  /** Port and host of the live servers. */
  rtmpPort: number;
  srtPort: number;
  account: string;
  token: string;
  /** Collects garbage in the server first. */
  memory(): Promise<Memory>;
  /** Calls an operation that must succeed; `path` is relative to the account. */
  // oxlint-disable-next-line no-explicit-any
  call(method: string, path: string, body?: unknown): Promise<any>;
}

interface Ready {
  event?: string;
  url: string;
  token: string;
  account: { id: string };
  smtp: { port: number };
  live: { rtmpPort: number; srtPort: number };
  memory?: Memory;
}

/**
 * The main module of the program as the package ships it: running the sources would also measure the stripping of their
 * types.
 */
export const packagedProgram = (): Promise<string> => programForTests(root, join(root, ".reelpost", "bench-program"));

/** `reelpost serve` of the published package. `plain`: started as users start it, without `memory`. */
export async function startMeasured(
  kit: BenchContext,
  name: string,
  { program, env = {}, plain = false }: { program: string; env?: Record<string, string>; plain?: boolean },
): Promise<MeasuredServer> {
  let ready: Ready | undefined;
  let onMemory = (_memory: Memory) => {};
  const options = ["--data-dir", join(kit.dir, name), "--port", "0", "--smtp-port", "0", "--log-level", "error"];
  const server = await startServerProcess({
    name: "reelpost serve",
    cwd: kit.dir,
    args: [...(plain ? [] : ["--expose-gc", "--import", control]), program, "serve", "--json", ...options],
    env: { REELPOST_API_RATE_LIMIT: "0", ...env },
    ready(line) {
      const event = JSON.parse(line) as Ready;
      if (event.memory !== undefined) onMemory(event.memory);
      if (event.event !== "ready") return undefined;
      ready = event;
      return event.url;
    },
  });
  kit.onStop(server.stop);
  const { url, token, account, smtp, live } = ready!;
  return {
    ...server,
    ...live,
    smtpPort: smtp.port,
    account: account.id,
    token,
    memory: () =>
      new Promise((resolve) => {
        onMemory = resolve;
        process.kill(server.pid, "SIGUSR2");
      }),
    async call(method, path, body) {
      const response = await fetch(`${url}/client/v4/accounts/${account.id}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text.slice(0, 300)}`);
      return (JSON.parse(text) as { result: unknown }).result;
    },
  };
}

/** Returns the resident memory of a process in octets (`Rss`), or its proportional share of it (`Pss`). */
export function residentOctets(pid: number, figure: "Rss" | "Pss"): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(new RegExp(`^${figure}: +(\\d+) kB$`, "m").exec(rollup)![1]) * 1024;
}

/** Returns the descendants of a process that have a matching command line. */
export function descendants(root: number, command: RegExp): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has exited.
    }
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isBelow(parent));
  };
  return [...parents.keys()].filter((pid) => isBelow(pid) && command.test(commandOf(pid)));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
