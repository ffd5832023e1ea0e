import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { Video } from "../videos/index.ts";
import { patchAt } from "./tus-responses.testing.ts";
import { createTus } from "./tus.ts";

test("a request that cannot get the lock is asked to retry", async (t) => {
  const locked = { acquire: () => Promise.resolve(undefined), has: () => true, close() {} };
  const unused = {} as Parameters<typeof createTus>[0];
  const tus = createTus({ ...unused, lock: locked });
  const video = { uid: "0".repeat(32), maxSizeBytes: null } as Video;
  const server = createServer((request, response) => {
    void tus(request, response, { method: request.method as "HEAD" | "PATCH" | "DELETE", video });
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const text = "Another request is writing to this upload. Retry in a few seconds.\n";
  for (const method of ["HEAD", "PATCH", "DELETE"]) {
    const response = await fetch(url, { method, headers: patchAt(8) as Record<string, string> });
    assert.deepEqual([response.status, await response.text()], [423, method === "HEAD" ? "" : text]);
  }
});
