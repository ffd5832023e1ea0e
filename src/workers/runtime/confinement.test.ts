import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
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
      return (
        parent === undefined ||
        readFileSync(`/proc/${name}/stat`, "latin1").split(") ").at(-1)!.split(" ")[1] === String(parent)
      );
    } catch {
      return false;
    }
  });

const statusOf = (pid: string | undefined) => readFileSync(`/proc/${pid}/status`, "utf8");
const RANGE = { first: 70_000, last: 70_009 };
const silent = scriptOf("export default { email() {} }");

describe("a worker process", onLinux, () => {
  it("runs as `nobody` without capabilities if accounts have no separate users", asRoot, async () => {
    const runtime = startRuntime();
    await runtime.deploy(silent);
    const [pid] = workerdPids(process.pid);
    const status = statusOf(pid);
    assert.match(status, /^Uid:\s+65534\s+65534\s+65534\s+65534$/m);
    assert.match(status, /^Gid:\s+65534\s/m);
    assert.match(status, /^Groups:\s*$/m);
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    for (const set of ["Inh", "Prm", "Eff", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\\s+0+$`, "m"));
    await runtime.close();
  });

  it("runs as the user of its account, which no other account shares", asRoot, async () => {
    const runtime = startRuntime({ uidRange: RANGE });
    const uids: string[] = [];
    for (const [name, account] of [
      ["a", "1"],
      ["b", "1"],
      ["c", "2"],
      ["d", "3"],
    ] as const) {
      const before = new Set(workerdPids(process.pid));
      await runtime.deploy(scriptOf("export default { email() {} }", { name, account: account.repeat(32) }));
      const [pid] = workerdPids(process.pid).filter((one) => !before.has(one));
      const [, uid, gid] = /^Uid:\s+(\d+)[^]*^Gid:\s+(\d+)/m.exec(statusOf(pid))!;
      assert.equal(uid, gid);
      assert.ok(Number(uid) >= RANGE.first && Number(uid) <= RANGE.last, String(uid));
      uids.push(uid!);
    }
    assert.equal(uids[0], uids[1]);
    assert.equal(new Set(uids).size, 3);
    await runtime.close();
  });

  it("can connect to its own sockets but not to those of other accounts", asRoot, async (t) => {
    const root = await mkdtemp(join(tmpdir(), "reelpost-sockets-"));
    t.after(() => rm(root, { recursive: true }));
    // The folder is searchable, so only the socket permissions reject other users.
    await chmod(root, 0o755);
    const runtime = startRuntime({ uidRange: RANGE, runFolder: root });
    await runtime.deploy(
      scriptOf("export default { email(message) { message.setReject(typeof message.from) } }", {
        account: "1".repeat(32),
      }),
    );
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "string");
    const [pid] = workerdPids(process.pid);
    const [home] = readdirSync(root);
    for (const place of [join(root, home!), join(root, home!, "0")]) await chmod(place, 0o755);
    const connect = (uid: number) =>
      spawnSync("setpriv", [
        "--reuid",
        String(uid),
        "--regid",
        String(uid),
        "--clear-groups",
        "perl",
        "-MIO::Socket::UNIX",
        "-e",
        "exit !IO::Socket::UNIX->new(Peer => $ARGV[0])",
        join(root, home!, "0", "bindings.sock"),
      ]).status;
    const own = statSync(`/proc/${pid}/cwd`).uid;
    assert.deepEqual([connect(own), connect(own === RANGE.last ? RANGE.first : own + 1), connect(65534)], [0, 1, 1]);
    await runtime.close();
  });

  it("stores no secrets in files, neither while running nor after the server was killed", async (t) => {
    const root = await mkdtemp(join(tmpdir(), "reelpost-secrets-"));
    t.after(() => rm(root, { recursive: true, force: true }));
    const secret = `S3cr3tMark${process.pid}`;
    const server = spawn(process.execPath, ["--input-type=module", "-e", `
      const { startRuntime, scriptOf, mailOf, noActions } = await import(${JSON.stringify(new URL("runtime.testing.ts", import.meta.url).href)});
      const runtime = startRuntime({ runFolder: ${JSON.stringify(root)} });
      const bindings = [{ type: "secret_text", name: "KEY", text: ["S3cr3t", "Mark${process.pid}"].join("") }];
      await runtime.deploy(scriptOf("export default { email(message, env) { message.setReject(env.KEY) } }", { bindings }));
      console.log((await runtime.email("test", mailOf(), noActions)).rejected);
      setInterval(() => {}, 1000);`], { stdio: ["ignore", "pipe", "inherit"] }); // prettier-ignore
    t.after(() => void server.kill("SIGKILL"));
    const [said] = await Promise.race([once(server.stdout!, "data"), once(server, "exit")]);
    assert.equal(String(said).trim(), secret);
    // Returns the files of this server that contain the secret; a file descriptor held by a process does not count as a
    // file.
    const holders = () =>
      readdirSync(root, { recursive: true, withFileTypes: true }).filter(
        (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(secret),
      );
    assert.deepEqual(holders(), []);
    server.kill("SIGKILL");
    await once(server, "close");
    assert.deepEqual(holders(), []);
  });

  it("starts in a folder whose path is too long for a socket", async (t) => {
    const root = await mkdtemp(join(tmpdir(), "reelpost-long-"));
    t.after(() => rm(root, { recursive: true, force: true }));
    const runtime = startRuntime({ runFolder: join(root, "x".repeat(120), "run") });
    await runtime.deploy(scriptOf("export default { email(message) { message.setReject('here') } }"));
    assert.equal((await runtime.email("test", mailOf(), noActions)).rejected, "here");
    await runtime.close();
  });

  it("has a kernel memory limit", async () => {
    const runtime = startRuntime({ limits: { rssMb: 300 } });
    await runtime.deploy(scriptOf("export default { email() {} }"));
    const [, bytes] = /^Max data size\s+(\d+)\s+\1\s/m.exec(
      readFileSync(`/proc/${workerdPids(process.pid)[0]}/limits`, "utf8"),
    )! as unknown as [string, string];
    // V8 reserves 512 MiB for code without using it.
    assert.ok(Number(bytes) >= (512 + 300) * 2 ** 20 && Number(bytes) <= (512 + 600) * 2 ** 20, bytes);
    await runtime.close();
  });

  it("and its folder are removed when the runtime closes", async () => {
    const runtime = startRuntime();
    await runtime.deploy(scriptOf("export default { email() {} }"));
    await runtime.email("test", mailOf(), noActions);
    await runtime.close();
    assert.deepEqual(workerdPids(process.pid), []);
    assert.deepEqual(
      readdirSync(tmpdir()).filter((name) => name.startsWith(`reelpost-run-${process.pid}-`)),
      [],
    );
  });

  it("ends with a server that is killed, and another server removes its folder", async () => {
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
