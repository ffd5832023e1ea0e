/**
 * Main module of the host process: runs the servers of one test process, which may have an older version of Node,
 * mocked globals or another module system. Exits when the channel to that process closes, or some time after its last
 * server has been closed.
 */
import { messageOf, UserError } from "../kernel/index.ts";
import { testHelperErrors } from "./errors.ts";
import { createHostServer, type HostServer } from "./host-server.ts";
import type { HostError, HostMessage, HostRequest, StartParams } from "./wire.ts";

/** A test file often starts a server again soon after it has closed one; this process then need not start again. */
const IDLE_MS = 3000;

const servers = new Map<number, HostServer>();
let idleTimer: NodeJS.Timeout | undefined;

process.on("message", (request: HostRequest) => {
  handle(request).then(
    (result) => send({ type: "result", id: request.id, result }),
    (err: unknown) => send({ type: "error", id: request.id, error: errorOf(err) }),
  );
});
process.on("disconnect", () => void stop());
// Ctrl-C reaches the whole process group. The test process decides when to stop; its exit closes the channel.
process.on("SIGINT", () => {});

async function handle({ server: key, method, params }: HostRequest): Promise<unknown> {
  clearTimeout(idleTimer);
  if (method === "start") {
    const server = createHostServer({ onEvent: (event) => send({ type: "event", server: key, event }) });
    servers.set(key, server);
    try {
      return await server.start(params as StartParams);
    } catch (err) {
      await close(key);
      throw err;
    }
  }
  if (method === "close") return close(key);
  const server = servers.get(key);
  if (server === undefined) throw testHelperErrors.serverClosed();
  return server.call(method, params);
}

async function close(key: number): Promise<void> {
  const server = servers.get(key);
  servers.delete(key);
  await server?.close();
  stopWhenIdle();
}

function stopWhenIdle() {
  clearTimeout(idleTimer);
  if (servers.size === 0) idleTimer = setTimeout(() => void stop(), IDLE_MS);
}

async function stop(): Promise<void> {
  await Promise.allSettled([...servers.values()].map((server) => server.close()));
  process.exit(0);
}

function send(message: HostMessage) {
  // The callback receives the error of a channel that has been closed.
  if (process.connected) process.send!(message, () => {});
}

function errorOf(err: unknown): HostError {
  if (err instanceof AggregateError) {
    const errors = err.errors.map(errorOf);
    return {
      message: errors.map(({ message }) => message).join("\n"),
      fix: errors.flatMap(({ fix }) => fix ?? []).join(" ") || undefined,
    };
  }
  return { message: messageOf(err), fix: err instanceof UserError ? err.fix : undefined };
}
