/**
 * The module `reelpost/test`. It runs in the process of the test, with any version of Node, as an ES module or
 * CommonJS: it imports only Node's modules, and starts the servers in a host process.
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { CreateServerOptions, TestServer } from "./api.ts";
import { createHostProcess, HostEndedError, type HostProcess } from "./host-process.ts";
import { openTestServer } from "./test-server.ts";

export { TestServerError } from "./test-server-error.ts";

const HOST = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./host.ts" : "./host.js", import.meta.url));

/** Shared by all servers of this module: they run in the process that the first one starts. */
let host: HostProcess | undefined;

/** See api.ts. */
export async function createServer(options: CreateServerOptions = {}): Promise<TestServer> {
  const { dir = ".", config = [], startTimeout = 60_000, ...rest } = options;
  const params = { cwd: resolve(dir), configs: [config].flat(), env: { ...process.env }, ...rest };
  if (host?.isRunning === true)
    try {
      return await openTestServer(host, params, startTimeout);
    } catch (err) {
      // A process without servers ends after a while, possibly before this one notices.
      if (!(err instanceof HostEndedError)) throw err;
    }
  if (host?.isRunning !== true) host = createHostProcess(HOST);
  return openTestServer(host, params, startTimeout);
}
