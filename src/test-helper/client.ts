/**
 * The module `reelpost/test`. It runs in the process of the test, with any version of Node, as an ES module or
 * CommonJS: it imports only Node's modules, and starts the servers in a host process.
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { CreateServerOptions, TestServer } from "./api.ts";
import { createHostProcess, type HostProcess } from "./host-process.ts";
import { openTestServer } from "./test-server.ts";

export { TestServerError } from "./test-server-error.ts";

const HOST = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./host.ts" : "./host.js", import.meta.url));

/** Shared by all servers of this module: they run in the process that the first one starts. */
let host: HostProcess | undefined;

/** See api.ts. */
export async function createServer(options: CreateServerOptions = {}): Promise<TestServer> {
  if (host?.isRunning !== true) host = createHostProcess(HOST);
  const { dir = ".", config = [], startTimeout = 30_000, ...rest } = options;
  return openTestServer(
    host,
    { cwd: resolve(dir), configs: [config].flat(), env: { ...process.env }, ...rest },
    startTimeout,
  );
}
