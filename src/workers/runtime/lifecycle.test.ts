import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { type Clock, systemClock } from "../../kernel/index.ts";
import { mailOf, noActions, scriptOf, startRuntime } from "./runtime.testing.ts";

/** workerd processes of this test's own runtime. */
function processes(): number {
  return readdirSync("/proc").filter((name) => {
    try {
      if (!/^\d+$/.test(name) || !readlinkSync(`/proc/${name}/exe`).endsWith("/workerd")) return false;
      return readFileSync(`/proc/${name}/stat`, "latin1").split(") ").at(-1)!.split(" ")[1] === String(process.pid);
    } catch {
      return false;
    }
  }).length;
}

const start = (t: TestContext, options: Parameters<typeof startRuntime>[0] = {}) => {
  const runtime = startRuntime(options);
  t.after(() => runtime.close());
  return runtime;
};
const saying = (word: string) => `export default { email(message) { message.setReject(${JSON.stringify(word)}) } }`;

describe("concurrent starts and ends", { skip: process.platform !== "linux" && "needs /proc" }, () => {
  it("a worker removed while it starts leaves no process behind", async (t) => {
    const runtime = start(t);
    await runtime.deploy(scriptOf(saying("x")), { start: false });
    const message = runtime.email("test", mailOf(), noActions);
    await runtime.remove("test");
    await message;
    assert.equal(processes(), 0);
  });

  it("a deploy requested while a failing one is running takes effect", async (t) => {
    const runtime = start(t);
    const bad = runtime.deploy(scriptOf("export default {"));
    const good = runtime.deploy(scriptOf(saying("good"), { version: "2" }));
    await assert.rejects(bad, /SyntaxError/);
    await good;
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "good");
    assert.equal(processes(), 1);
  });

  it("starting processes count against the limit too", async (t) => {
    const runtime = start(t, { maxProcesses: 2 });
    const names = [..."abcdef"];
    for (const name of names) await runtime.deploy(scriptOf(saying(name), { name }), { start: false });
    const seen: number[] = [];
    const answers = await Promise.all(
      names.map((name) => runtime.email(name, mailOf(), noActions).finally(() => seen.push(processes()))),
    );
    assert.deepEqual(
      answers.map(({ rejected }) => rejected),
      names,
    );
    assert.ok(Math.max(...seen) <= 2, String(seen));
  });

  it("a loop at the top level of a module ends at the CPU time limit for starting", async (t) => {
    const runtime = start(t, { limits: { cpuMs: 300 } });
    await assert.rejects(
      runtime.deploy(scriptOf("for (;;); export default {}")),
      /failed to start: Worker exceeded CPU time limit of 1000 ms/,
    );
  });

  it("neither closing nor a new version waits for the backoff of a crash loop", async (t) => {
    const slept = Promise.withResolvers<void>();
    const state = { forEver: false };
    // Every wait is short at first; later, a wait ends only when it is aborted.
    const clock: Clock = {
      now: () => systemClock.now(),
      sleep: (ms, signal) =>
        state.forEver
          ? (slept.resolve(),
            new Promise((_, reject) =>
              signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
            ))
          : systemClock.sleep(Math.min(ms, 1), signal),
    };
    const runtime = start(t, { limits: { cpuMs: 100 }, clock });
    await runtime.deploy(scriptOf("export default { email() { for (;;); } }"));
    for (let crash = 0; crash < 5; crash++) await runtime.email("test", mailOf(), noActions);
    state.forEver = true;
    const waiting = runtime.email("test", mailOf(), noActions);
    await slept.promise;
    await runtime.deploy(scriptOf(saying("repaired"), { version: "2" }));
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "repaired");
    await waiting;
  });

  it("a server without free file descriptors reports that, and recovers when some become free", async (t) => {
    const script = `
      const { openSync, closeSync } = await import("node:fs");
      const { startRuntime, scriptOf, mailOf, noActions } = await import(${JSON.stringify(new URL("runtime.testing.ts", import.meta.url).href)});
      const runtime = startRuntime();
      await runtime.deploy(scriptOf("export default { email() {} }"), { start: false });
      const taken = [];
      try { for (;;) taken.push(openSync("/dev/null")); } catch {}
      for (let i = 0; i < 4; i++) closeSync(taken.pop());
      const first = await runtime.email("test", mailOf(), noActions);
      for (const one of taken) closeSync(one);
      const second = await runtime.email("test", mailOf(), noActions);
      await runtime.close();
      console.log(first.exception?.message, second.outcome);`;
    const server = spawn(
      "sh",
      ["-c", `ulimit -n 120; exec "$0" --input-type=module -e "$1"`, process.execPath, script],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    t.after(() => server.kill("SIGKILL"));
    assert.match(await text(server.stdout), /EMFILE ok$/m);
  });
});
