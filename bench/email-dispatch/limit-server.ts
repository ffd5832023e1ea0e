// node limit-server.ts DIRECTORY COMPATIBILITY_DATE The least that a dispatch can cost: a bare Node server that passes
// each body to a worker over a unix socket, and the worker reads it. Prints its URL once both the server and workerd
// listen.
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { Agent, createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import workerd from "workerd";

const [directory, compatibilityDate] = process.argv.slice(2);
const socketPath = join(directory!, "workerd.sock");
const config = join(directory!, "config.capnp");
const worker = `export default { async fetch(request) { await request.arrayBuffer(); return new Response("ok"); } };`;
writeFileSync(
  config,
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = (compatibilityDate = ${JSON.stringify(compatibilityDate)}, modules = [ (name = "worker.js", esModule = ${JSON.stringify(worker)}) ])) ],
  sockets = [ (name = "http", address = ${JSON.stringify(`unix:${socketPath}`)}, http = (), service = "main") ],
);
`,
);
const child = spawn(workerd.default, ["serve", config], { stdio: "ignore" });
child.once("exit", () => process.exit(1));
process.once(
  "SIGTERM",
  () =>
    void child
      .removeAllListeners("exit")
      .once("exit", () => process.exit(0))
      .kill(),
);
while (!existsSync(socketPath)) await new Promise((resolve) => void setTimeout(resolve, 20));

const agent = new Agent({ keepAlive: true });
const server = createServer((request, response) => {
  const upstream = httpRequest(
    { socketPath, agent, method: "POST", headers: { "content-length": request.headers["content-length"] } },
    (answer) => {
      answer.resume().once("end", () => response.writeHead(answer.statusCode!, { "content-length": 0 }).end());
    },
  );
  upstream.once("error", () => response.writeHead(502, { "content-length": 0 }).end());
  request.pipe(upstream);
});
server.listen(0, "127.0.0.1", () =>
  process.stdout.write(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
);
