import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import { createTransport } from "nodemailer";
import { systemClock } from "../../kernel/index.ts";
import { listen } from "./listening.testing.ts";

const program = fileURLToPath(new URL("idle-clients.testing.ts", import.meta.url));

/** Opens `count` idle connections, from as many addresses as needed, and holds them while `during` runs. */
async function withIdleClients(
  t: TestContext,
  args: { port: number; count: number; perAddress: number; inData?: boolean },
  during: (found: { greeted: number; refused: number }) => Promise<void>,
  meanwhile: (greeted: number) => void,
) {
  const child = spawn(
    process.execPath,
    [
      program,
      String(args.port),
      String(args.count),
      String(args.perAddress),
      ...(args.inData === true ? ["DATA"] : []),
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  t.after(() => child.kill("SIGKILL"));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("done ")) meanwhile(Number(line));
    else {
      await during(JSON.parse(line.slice(5)) as { greeted: number; refused: number });
      child.stdin.end();
    }
  }
}

async function deliver(port: number): Promise<number> {
  const started = performance.now();
  const client = createTransport({ host: "127.0.0.1", port });
  await client.sendMail({
    envelope: { from: "good@sender.example", to: "b@here.example" },
    raw: "Subject: x\r\n\r\nbody\r\n",
  });
  client.close();
  return performance.now() - started;
}

/**
 * Runs `count` idle clients against a server limited to `connections`: the limit must hold, and well-behaved clients
 * must always be served.
 */
export async function idleCrowd(
  t: TestContext,
  { count, connections, inData = false }: { count: number; connections: number; inData?: boolean },
): Promise<void> {
  const { port, listener, taken } = await listen(t, {
    clock: systemClock,
    limits: { connections, connectionsPerNetwork: 50, minIdleMs: 50, closeMs: 1000 },
  });
  let most = 0;
  let slowest = 0;
  let served = 0;
  // Connects sequentially, like a well-behaved client: at most one connection of its network is still closing when it
  // reconnects.
  let good = Promise.resolve();
  const before = process.memoryUsage().rss;
  const serve = async () => {
    slowest = Math.max(slowest, await deliver(port));
    served++;
  };
  await withIdleClients(
    t,
    { port, count, perAddress: 25, inData },
    async ({ greeted, refused }) => {
      assert.equal(greeted + refused, count);
      await good;
      for (let i = 0; i < 5; i++) await serve();
      t.diagnostic(
        `${listener.connections} of ${count} connected, ${inData ? "" : `${Math.round((process.memoryUsage().rss - before) / 1024 / listener.connections)} KiB each, `}the slowest good client took ${Math.round(slowest)} ms`,
      );
      assert.ok(listener.connections > Math.min(count, connections) * 0.9, String(listener.connections));
    },
    () => {
      most = Math.max(most, listener.connections);
      good = good.then(serve);
      good.catch(() => {});
    },
  );
  await good;
  assert.ok(most <= connections, `${most} concurrent connections`);
  assert.ok(served >= 5);
  assert.equal(taken.length, served);
}
