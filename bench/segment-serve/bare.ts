// The limit of the benchmark in Node: `node:http` sends files of the folder in the first argument, from memory or, with
// "files" as the second argument, from the page cache. It neither routes nor authorizes.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [, , root, mode] = process.argv as [string, string, string, string?];
const CHUNK = 256 * 1024;
const kept = new Map<string, Buffer>();

const server = createServer((request, response) => {
  const path = request.url!;
  const headers = { "content-type": "video/mp4", "cache-control": "public, max-age=604800, immutable" };
  if (mode !== "files") {
    const bytes = kept.getOrInsertComputed(path, () => readFileSync(join(root, path)));
    response.writeHead(200, { ...headers, "content-length": bytes.length }).end(bytes);
    return;
  }
  const fd = openSync(join(root, path), "r");
  const { size } = fstatSync(fd);
  response.writeHead(200, { ...headers, "content-length": size });
  const buffer = Buffer.allocUnsafe(CHUNK);
  let position = 0;
  const next = () => {
    const count = readSync(fd, buffer, 0, CHUNK, position);
    position += count;
    if (position < size) return void response.write(buffer.subarray(0, count), next);
    closeSync(fd);
    response.end(buffer.subarray(0, count));
  };
  next();
}).listen({ host: "127.0.0.1", port: 0 }, () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
process.once("SIGTERM", () => process.exit());
