import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "../../../kernel/index.ts";
import { createFolderSite } from "../../assets/files/dev-site.ts";
import { createLocalWorkerCalls } from "../../bindings/services/runtime-calls.ts";
import { createServiceBindingService } from "../../bindings/services/service.ts";
import type { Binding } from "../../scripts/script.ts";
import type { WorkerRuntime } from "../port.ts";
import { noServices, scriptOf, startRuntime } from "../runtime.testing.ts";

const TARGET = `
import { WorkerEntrypoint } from "cloudflare:workers";
export default class extends WorkerEntrypoint {
  fetch() { return new Response("code"); }
  add(a, b) { return a + b; }
}
export class Admin extends WorkerEntrypoint {
  fetch() { return new Response("admin"); }
}`;

const CALLER = `
const text = async (binding, path) => {
  const response = await binding.fetch("https://x" + path);
  return response.status + " " + (await response.text()).trim();
};
const failure = async (call) => call.then(() => "none", (err) => err.message);
export default {
  fetch: async (request, { BOTH, ADMIN, FILES, FILES_ADMIN }) => Response.json({
    both: [await text(BOTH, "/"), await text(BOTH, "/other"), await BOTH.add(1, 2)],
    admin: await text(ADMIN, "/"),
    files: [await text(FILES, "/"), await text(FILES, "/other"), await failure(FILES.add(1, 2))],
    filesAdmin: await text(FILES_ADMIN, "/"),
  }),
};`;

const BINDINGS: Binding[] = [
  { type: "service", name: "BOTH", service: "both" },
  { type: "service", name: "ADMIN", service: "both", entrypoint: "Admin" },
  { type: "service", name: "FILES", service: "files" },
  { type: "service", name: "FILES_ADMIN", service: "files", entrypoint: "Admin" },
];

test("service bindings to workers with static assets", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "reelpost-asset-calls-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, "index.html"), "home\n");
  const site = { directory, config: {}, compatibilityDate: "2026-10-01", compatibilityFlags: [] };
  const assets = createFolderSite(
    () => site,
    () => {},
  );

  let runtime: WorkerRuntime | undefined;
  const service = createServiceBindingService({
    calls: createLocalWorkerCalls({
      runtime: { entrypoint: (...call) => runtime!.entrypoint(...call) },
      log: silentLog,
    }),
  });
  runtime = startRuntime({ services: { ...noServices, service } });
  t.after(() => runtime!.close());
  await runtime.deploy(scriptOf(TARGET, { name: "both", assets }));
  await runtime.deploy(scriptOf("", { name: "files", main: "", modules: [], assets }));
  await runtime.deploy(scriptOf(CALLER, { name: "caller", bindings: BINDINGS }));
  const server = createServer((request, response) => void runtime!.fetch("caller", request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });

  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  assert.deepEqual(await answer.json(), {
    both: ["200 home", "200 code", 3],
    admin: "200 admin",
    files: ["200 home", "404 ", "The Worker files has only static assets and no code."],
    filesAdmin: "503 The Worker files does not export an entrypoint named Admin.",
  });
});
