import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { sendHttpRequest, createApi, servePlatform, TOKEN, type Scope } from "./serve-client.ts";

const version = (word: string) => `export default { fetch() { return new Response("${word}") } }`;

/** Returns the number of worker processes started by this process. */
function workerProcesses(): number {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        const ours = Number(/\) [^Z] (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1]) === process.pid;
        return ours && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("config.capnp");
      } catch {
        // The process has just exited.
        return false;
      }
    }).length;
}

/** Waits for a number of worker processes, because others may still be exiting. */
async function untilProcesses(isEnough: (running: number) => boolean) {
  for (const deadline = Date.now() + 60_000; !isEnough(workerProcesses()); await sleep(20))
    assert.ok(Date.now() < deadline, `${workerProcesses()} processes are running`);
}

const none = (running: number) => running === 0;

/** Tests many workers of one account on one node with few process slots. */
export async function manyWorkers(t: Scope, count: number, maxProcesses: number): Promise<void> {
  await untilProcesses(none);
  const server = await servePlatform(t, {
    env: { REELPOST_WORKERS_MAX_PROCESSES: String(maxProcesses), REELPOST_WORKERS_IDLE_MS: "1000" },
  });
  const api = createApi(server, TOKEN);
  const names = Array.from({ length: count }, (_, i) => `w${i}`);
  const waiting = [...names];
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) await api.deploy(name, version(name));
    }),
  );
  let most = 0;
  for (const name of names) {
    assert.equal((await sendHttpRequest(server, "/", { host: `${name}.main.localhost` })).body, name);
    // Evicted processes may still be exiting.
    await untilProcesses((running) => running <= maxProcesses);
    most = Math.max(most, workerProcesses());
  }
  assert.ok(most >= 2, `${most} concurrent processes`);
  // There are more concurrent requests than process slots, so they wait for each other.
  const crowd = await Promise.all(
    names.slice(0, 4 * maxProcesses).map((name) => sendHttpRequest(server, "/", { host: `${name}.main.localhost` })),
  );
  assert.deepEqual(
    crowd.map(({ body }) => body),
    names.slice(0, 4 * maxProcesses),
  );
  await untilProcesses(none);
  assert.equal((await sendHttpRequest(server, "/workers/w0/")).body, "w0");
  assert.equal((await api.ok("get", "workers/scripts")).length, count);
}
