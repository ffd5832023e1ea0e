import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { WorkerScript } from "../../scripts/script.ts";
import { createD1Databases } from "./databases.ts";
import { createD1Service } from "./service.ts";

test("a worker of an account can access the databases of its account; a worker without one can access all", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "d1-service-"));
  const databases = createD1Databases({ directory, processes: 1 });
  const listed = new Set(["a/mine"]);
  const service = createD1Service({
    directory,
    databases,
    list: { isLive: async (account, id) => listed.has(`${account}/${id}`) },
  });
  const ask = async (account: string | undefined, id: string) => {
    const script = { name: "w", ...(account !== undefined && { account }) } as WorkerScript;
    const server = createServer(
      (request, response) =>
        void service.handle(request, response, { script, binding: { type: "d1", name: "DB", id } }),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/query`, {
      method: "POST",
      body: JSON.stringify({ sql: "select 1 as a" }),
    });
    const answer = (await response.json()) as { error?: string } | { results: unknown[] }[];
    server.close();
    return Array.isArray(answer) ? answer[0]!.results : answer.error;
  };
  t.after(async () => {
    await databases.close();
    rmSync(directory, { recursive: true, force: true });
  });
  assert.deepEqual(await ask("a", "mine"), [{ a: 1 }]);
  assert.equal(await ask("b", "mine"), "The database mine could not be found");
  listed.clear();
  assert.equal(await ask("a", "mine"), "The database mine could not be found");
  assert.deepEqual(await ask(undefined, "anything"), [{ a: 1 }]);
});
