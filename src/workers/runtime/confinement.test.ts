import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { describe, it } from "node:test";
import { mailOf, noActions, scriptOf, startRuntime } from "./runtime.testing.ts";

const onLinux = { skip: process.platform !== "linux" && "needs /proc" };
const asRoot = { skip: process.getuid?.() !== 0 && "needs root" };

/** workerd processes whose parent is `parent`, or all of them. */
const workerdPids = (parent?: number) =>
  readdirSync("/proc").filter((name) => {
    try {
      if (!/^\d+$/.test(name) || !readlinkSync(`/proc/${name}/exe`).endsWith("/workerd")) return false;
      return parent === undefined || readFileSync(`/proc/${name}/stat`, "latin1").split(") ").at(-1)!.split(" ")[1] === String(parent);
    } catch {
      return false;
    }
  });

describe("a worker process", onLinux, () => {
  it("runs as nobody, without a way to more", asRoot, async () => {
    const runtime = startRuntime();
    await runtime.deploy(scriptOf("export default { email() {} }"));
    const [pid] = workerdPids(process.pid);
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    assert.match(status, /^Uid:\s+65534\s+65534\s+65534\s+65534$/m);
    assert.match(status, /^Gid:\s+65534\s/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    await runtime.close();
  });

  it("and its folder are gone when the runtime has closed", async () => {
    const runtime = startRuntime();
    await runtime.deploy(scriptOf("export default { email() {} }"));
    await runtime.email("test", mailOf(), noActions);
    await runtime.close();
    assert.deepEqual(workerdPids(process.pid), []);
    assert.deepEqual(readdirSync(tmpdir()).filter((name) => name.startsWith(`reelpost-run-${process.pid}-`)), []);
  });

  it("dies with a server that is killed, and the next server sweeps its folder", async () => {
    const server = spawn(process.execPath, ["--input-type=module", "-e", `
      const { startRuntime, scriptOf } = await import(${JSON.stringify(new URL("runtime.testing.ts", import.meta.url).href)});
      const runtime = startRuntime();
      await runtime.deploy(scriptOf("export default { email() {} }"));
      console.log("up");
      setInterval(() => {}, 1000);`], { stdio: ["ignore", "pipe", "inherit"] }); // prettier-ignore
    await once(server.stdout!, "data");
    const [pid] = workerdPids(server.pid);
    assert.ok(pid !== undefined);
    server.kill("SIGKILL");
    await once(server, "close");
    while (existsSync(`/proc/${pid}/exe`) && isRunning(pid)) await new Promise((resolve) => void setImmediate(resolve));
    const folder = readdirSync(tmpdir()).find((name) => name.startsWith(`reelpost-run-${server.pid}-`));
    assert.ok(folder !== undefined);
    await startRuntime().close();
    assert.equal(existsSync(join(tmpdir(), folder)), false);
  });
});

const isRunning = (pid: string) => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
};
