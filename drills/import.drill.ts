import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { startServerProcess } from "../bench/harness/server-process.ts";
import {
  compareAccounts,
  fillAccount,
  importArguments,
  readAccount,
  requestsTo,
  untilReady,
  workerName,
  ROWS,
  type AccountAccess,
  type AccountSizes,
} from "../test/support/filled-account.ts";
import { clip } from "../test/support/media.ts";
import type { Drill, DrillContext } from "./harness/drill.ts";

const MAIN = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const SIZES: AccountSizes = {
  zones: 3,
  rules: 60,
  workers: 10,
  keys: 1000,
  objects: 20,
  databases: 3,
  videos: 12,
  liveInputs: 2,
};
/** Shares of the plan after which an import is killed. */
const KILLED_AT = [0.4, 0.95];

interface Server extends AccountAccess {
  url: string;
}

/**
 * Moves an account from one server to another with `reelpost import cloudflare`: once completely, and once killed twice
 * midway and resumed. Counts the resources that are equal afterwards.
 */
const drill: Drill = {
  name: "import",
  async run(kit) {
    const source = await startServer(kit, "source");
    kit.say("filling the source account");
    await fillAccount(source, SIZES, await clip());
    const wanted = await readAccount(source);
    const whole = await moveTo(kit, source, wanted, []);
    const killed = await moveTo(kit, source, wanted, KILLED_AT);
    const summary = { drill: "import", sizes: SIZES, uninterrupted: whole, killed_twice: killed };
    return {
      summary,
      ok:
        [whole, killed].every(
          ({ lost, failed, second_run, embed_page, worker }) =>
            lost.length === 0 && failed === 0 && second_run === "nothing to do" && embed_page && worker,
        ) && killed.kills === KILLED_AT.length,
    };
  },
};
export default drill;

async function moveTo(
  kit: DrillContext,
  source: Server,
  wanted: Awaited<ReturnType<typeof readAccount>>,
  killedAt: readonly number[],
) {
  const name = killedAt.length === 0 ? "whole" : "killed";
  const target = await startServer(kit, `target-${name}`);
  const cwd = join(kit.dir, `import-${name}`);
  await mkdir(cwd);
  kit.say(`planning: ${name}`);
  const plan = await runImport(cwd, source, target, ["--dry-run"]);
  const total = plan.items.filter(({ action }) => action === "new").length;
  let kills = 0;
  for (const share of killedAt) {
    kit.say(`importing until ${Math.round(share * 100)}% and killing`);
    if (await killImport(cwd, source, target, Math.floor(total * share))) kills++;
  }
  kit.say(`importing: ${name}`);
  const startedAt = performance.now();
  const { report } = await runImport(cwd, source, target, ["--yes"]);
  const seconds = (performance.now() - startedAt) / 1000;
  const { moved, lost } = compareAccounts(wanted, await readAccount(target));
  const second = await runImport(cwd, source, target, ["--yes"]);
  const work = second.items.filter(({ action }) => action === "new" || action === "changed");
  return {
    planned: total,
    kills,
    moved,
    lost,
    failed: report?.failed.length ?? 0,
    failures: report?.failed ?? [],
    seconds: Number(seconds.toFixed(1)),
    second_run: work.length === 0 ? "nothing to do" : `${work.length} items: ${JSON.stringify(work.slice(0, 3))}`,
    embed_page: await embedWorks(target),
    worker: await workerWorks(target),
  };
}

async function startServer(kit: DrillContext, name: string): Promise<Server> {
  const cwd = join(kit.dir, name);
  await mkdir(cwd);
  let ready: { url: string; token: string; account: { id: string } } | undefined;
  const server = await startServerProcess({
    name: "reelpost serve",
    cwd,
    args: [MAIN, "serve", "--json", "--data-dir", cwd, "--port", "0", "--smtp-port", "0", "--log-level", "warn"],
    env: { REELPOST_API_RATE_LIMIT: "0", REELPOST_DNS_RESOLVERS: "127.0.0.1:9" },
    ready(line) {
      const event = JSON.parse(line) as { event?: string } & NonNullable<typeof ready>;
      if (event.event !== "ready") return undefined;
      ready = event;
      return event.url;
    },
  });
  kit.onStop(server.stop);
  const { url, token, account } = ready!;
  return { url, api: `${url}/client/v4`, token, account: account.id };
}

function importProcess(cwd: string, source: Server, target: Server, args: readonly string[]) {
  return spawn(process.execPath, [MAIN, ...importArguments(source, target), "--keep-verified", "--json", ...args], {
    cwd,
    env: { ...process.env, HOME: cwd },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

interface ImportResult {
  items: { kind: string; name: string; action: string }[];
  report?: { failed: { kind: string; name: string; reason: string }[] };
}

async function runImport(cwd: string, source: Server, target: Server, args: readonly string[]): Promise<ImportResult> {
  const child = importProcess(cwd, source, target, args);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve) => void child.once("close", resolve));
  try {
    return JSON.parse(stdout) as ImportResult;
  } catch (cause) {
    throw new Error(`the import exited with code ${code}: ${stdout}${stderr}`, { cause });
  }
}

/** Kills the import when its state file lists this many finished items. Resolves with false if it ended earlier. */
async function killImport(cwd: string, source: Server, target: Server, finished: number): Promise<boolean> {
  const child = importProcess(cwd, source, target, ["--yes"]);
  const ended = new AbortController();
  child.once("close", () => ended.abort());
  child.stdout.resume();
  child.stderr.resume();
  while (!ended.signal.aborted && (await finishedItems(cwd)) < finished)
    await new Promise((resolve) => void setTimeout(resolve, 20));
  const isKilled = !ended.signal.aborted && child.kill("SIGKILL");
  if (!ended.signal.aborted) await once(child, "close");
  return isKilled;
}

/** Finished plan items in the state file; single keys and objects are not items. */
async function finishedItems(cwd: string): Promise<number> {
  const text = await readFile(join(cwd, "reelpost-import.json"), "utf8").catch(() => "");
  const keys = text
    .split("\n")
    .slice(1, -1)
    .map((line) => JSON.parse(line) as [key: string, item: { digest?: string }])
    .filter(([key, { digest }]) => digest !== undefined && !/^(kv|r2) \S+ ./.test(key));
  return new Set(keys.map(([key]) => key)).size;
}

/** Returns true if the embed page of a video and its HLS playlist can be fetched. */
async function embedWorks(target: Server): Promise<boolean> {
  const [video] = await requestsTo(target).call("GET", `/accounts/${target.account}/stream?name=video%200`);
  if (video === undefined) return false;
  await untilReady(target, video.uid as string);
  const page = await fetch((video.preview as string).replace(/\/watch$/, "/iframe"));
  const playlist = await fetch(video.playback.hls as string);
  return page.ok && (await page.text()).includes(video.uid as string) && (await playlist.text()).startsWith("#EXTM3U");
}

async function workerWorks(target: Server): Promise<boolean> {
  const response = await fetch(`${target.url}/workers/${workerName(0)}/`);
  const answer = (await response.json().catch(() => undefined)) as { key?: string; rows?: number } | undefined;
  return answer?.key === "value 0" && answer.rows === ROWS;
}
