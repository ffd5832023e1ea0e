import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { settingsSchema } from "../../kernel/settings.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { ROLES } from "../roles.ts";
import { processSlot, rolesOfSlot, settingsOfSlot } from "./process-slot.ts";
import { bindSharedSockets } from "./shared-sockets.ts";
import { startSupervisor } from "./supervisor.ts";
import { processCount } from "./supervise-serve.ts";

async function start(t: TestContext, count = 2, script = "supervised.testing.ts") {
  const settings = settingsSchema.parse({
    http: { port: 0 },
    dashboard: { enabled: false },
    submission: { enabled: false },
  });
  const sockets = await bindSharedSockets(settings, new Set(["workers"]), new Map());
  t.after(() => sockets.close());
  const supervisor = startSupervisor<number>({
    count,
    command: [process.execPath, join(import.meta.dirname, script)],
    env: process.env,
    cwd: import.meta.dirname,
    sockets,
    clock: systemClock,
    log: silentLog,
    limits: { backoffMs: 10, maxBackoffMs: 100 },
  });
  t.after(() => supervisor.stop());
  /** Connects, and resolves with the slot and the id of the process that accepted the connection. */
  async function open(): Promise<{ socket: Socket; slot: string; pid: number }> {
    const socket = connect(await supervisor.first, "127.0.0.1");
    socket.on("error", () => {});
    t.after(() => socket.destroy());
    const [slot = "", pid] = String((await once(socket, "data"))[0]).split(" ");
    return { socket, slot, pid: Number(pid) };
  }
  /** Opens connections until each process has one. */
  async function openToAll() {
    const connections = new Map<number, { socket: Socket; slot: string; pid: number }>();
    while (connections.size < count) {
      const one = await open();
      if (!connections.has(one.pid)) connections.set(one.pid, one);
    }
    return [...connections.values()];
  }
  return { supervisor, open, openToAll };
}

test("processes share a socket, and a killed one closes only its own connections", async (t) => {
  const { supervisor, openToAll } = await start(t);
  await supervisor.ready;
  const [victim, other] = await openToAll();
  process.kill(victim!.pid, "SIGKILL");
  await once(victim!.socket, "close");
  assert.equal(other!.socket.destroyed, false);
  const pids = (await openToAll()).map(({ pid, slot }) => [pid, slot] as const);
  const successor = pids.find(([pid]) => pid !== other!.pid)!;
  assert.equal(successor[1], `${victim!.slot}/again`);
  assert.ok(pids.some(([pid]) => pid === other!.pid));
  assert.equal(other!.socket.destroyed, false);
});

test("replaces every process on reload, without refusing a connection", async (t) => {
  const { supervisor, open, openToAll } = await start(t, 3);
  await supervisor.ready;
  const before = new Set((await openToAll()).map(({ pid }) => pid));
  const done = new AbortController();
  let accepted = 0;
  const clients = Array.from({ length: 2 }, async () => {
    while (!done.signal.aborted) {
      // Rejects if the connection is refused, or closed before the response.
      const { socket } = await open();
      accepted++;
      socket.destroy();
    }
  });
  await supervisor.reload();
  done.abort();
  await Promise.all(clients);
  const after = (await openToAll()).map(({ pid }) => pid);
  assert.ok(after.every((pid) => !before.has(pid)));
  assert.ok(accepted > 0);
});

test("stops all processes, the first one last", async (t) => {
  const { supervisor, openToAll } = await start(t);
  await supervisor.ready;
  const connections = await openToAll();
  const closed: string[] = [];
  const closings = connections.map(({ socket, slot }) => once(socket, "close").then(() => closed.push(slot)));
  await supervisor.stop();
  await Promise.all(closings);
  assert.deepEqual(closed, ["2/2", "1/2"]);
  for (const { pid } of connections) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("rejects if the primary process cannot start", async (t) => {
  const { supervisor } = await start(t, 2, "missing.ts");
  await assert.rejects(supervisor.first, { code: 1 });
  await assert.rejects(supervisor.ready);
});

test("names the address of a port that is in use", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  t.after(() => other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  const settings = settingsSchema.parse({ http: { port } });
  await assert.rejects(bindSharedSockets(settings, new Set(["workers"]), new Map()), {
    message: new RegExp(`^Cannot listen on 127\\.0\\.0\\.1, port ${port}: EADDRINUSE`),
  });
  const unknown = settingsSchema.parse({ http: { host: "no-such-host.invalid", port: 0 } });
  await assert.rejects(bindSharedSockets(unknown, new Set(["workers"]), new Map()), /the host is unknown/);
});

test("reads the slot of a process, and assigns its roles and folders", () => {
  assert.equal(processSlot({}), undefined);
  assert.equal(processSlot({ REELPOST_PROCESS: "x" }), undefined);
  const first = processSlot({ REELPOST_PROCESS: "1/2" })!;
  const second = processSlot({ REELPOST_PROCESS: "2/2/again" })!;
  assert.deepEqual(second, { number: 2, count: 2, isReplacement: true });
  const roles = new Set(ROLES);
  assert.deepEqual(rolesOfSlot(roles, first), roles);
  assert.deepEqual(
    [...rolesOfSlot(roles, second)],
    ROLES.filter((role) => role !== "live" && role !== "dns"),
  );
  const settings = settingsSchema.parse({ data_dir: "/data" });
  assert.equal(settingsOfSlot(settings, undefined), settings);
  assert.deepEqual(
    [settingsOfSlot(settings, first).data_dir, settingsOfSlot(settings, first).cluster.listen],
    ["/data", "127.0.0.1:0"],
  );
  const onNetwork = settingsSchema.parse({ cluster: { listen: "10.0.0.1:8790", address: "node-1:8790" } });
  assert.equal(settingsOfSlot(onNetwork, first).cluster.listen, "10.0.0.1:8790");
  assert.deepEqual(
    [settingsOfSlot(onNetwork, second).cluster.listen, settingsOfSlot(onNetwork, second).cluster.address],
    ["10.0.0.1:0", ""],
  );
  const { data_dir: folder, secrets, objects } = settingsOfSlot(settings, second);
  assert.deepEqual(
    [folder, secrets.key_file, objects.dir],
    ["/data/processes/2", "/data/secrets.key", "/data/objects"],
  );
});

test("parses the number of processes", () => {
  assert.equal(processCount(undefined), 1);
  assert.equal(processCount("3"), 3);
  assert.ok(processCount("auto") >= 1);
  for (const processes of ["0", "-1", "1.5", "many", "257", ""])
    assert.throws(() => processCount(processes), /Invalid number of processes/);
});
