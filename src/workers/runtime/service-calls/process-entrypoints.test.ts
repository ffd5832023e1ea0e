import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createInvocations } from "../invocations.ts";
import type { Invocation } from "../port.ts";
import { OBJECTS_ENTRYPOINT } from "../remote-bindings.ts";
import { createProcessEntrypoints } from "./process-entrypoints.ts";

test(
  "a request to a Durable Object from another worker is not an invocation that waits for its tail",
  { timeout: 120_000 },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "reelpost-entrypoints-"));
    const path = join(folder, "service.sock");
    const worker = createServer((request, response) =>
      request.url === "/die" ? request.socket.destroy() : void response.end("hello"),
    );
    worker.listen(path);
    await once(worker, "listening");
    const reported: Invocation[] = [];
    const invocations = createInvocations({
      script: { name: "shop", version: "1" },
      mapStack: (stack) => stack,
      emit: (invocation) => void reported.push(invocation),
    });
    const entrypoints = createProcessEntrypoints({
      sockets: [OBJECTS_ENTRYPOINT, "Admin"].map((name) => ({ path, entrypoint: { name } })),
      invocations,
      countInvocation: (run) => run(),
      watch: () => assert.fail("no call is watched"),
      isAsleep: () => true,
      onUsed() {},
      findExitCause: async () => ({ outcome: "exceededCpu" }),
    });
    const caller = createServer(
      (request, response) =>
        void entrypoints.get({ name: String(request.headers["x-entrypoint"]) })!.fetch(request, response),
    );
    caller.listen(0, "127.0.0.1");
    await once(caller, "listening");
    t.after(() => {
      entrypoints.close();
      for (const server of [caller, worker]) {
        server.closeAllConnections();
        server.close();
      }
      rmSync(folder, { recursive: true, force: true });
    });

    const url = `http://127.0.0.1:${(caller.address() as AddressInfo).port}/`;
    for (const name of [OBJECTS_ENTRYPOINT, "Admin"])
      assert.equal(await (await fetch(url, { headers: { "x-entrypoint": name } })).text(), "hello");
    await new Promise<void>((resolve) => {
      const isOver = () => (invocations.count <= 1 || t.signal.aborted ? resolve() : void setImmediate(isOver));
      isOver();
    });
    assert.equal(reported.length, 0);
    // The process ended, so no item of the object follows.
    assert.equal((await fetch(`${url}die`, { headers: { "x-entrypoint": OBJECTS_ENTRYPOINT } })).status, 503);
    assert.deepEqual(
      reported.splice(0).map(({ outcome }) => outcome),
      ["exceededCpu"],
    );
    invocations.abandon();
    assert.deepEqual(
      reported.map(({ event }) => event.kind === "fetch" && event.headers!["x-entrypoint"]),
      ["Admin"],
    );
  },
);
