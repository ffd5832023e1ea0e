// The limit of the benchmark in Node: `node:http` sends files of the folder in the first argument, from memory or, with
// "files" as the second argument, from the page cache; with "sendfile", the system sends files that stay open. It neither
// routes nor authorizes.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";

const [, , root, mode] = process.argv as [string, string, string, string?];
// Loaded only if needed, because other systems than Linux lack the function.
const sendFile = mode === "sendfile" ? (await import("./sendfile.ts")).sendFile : undefined;
const CHUNK = 256 * 1024;
const kept = new Map<string, Buffer>();
const opened = new Map<string, { fd: number; size: number }>();

// The timeout of the other servers. With Node's 5 s, a connection may close just when its next sample starts.
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const path = request.url!;
  const headers = { "content-type": "video/mp4", "cache-control": "public, max-age=604800, immutable" };
  if (mode === "sendfile") {
    const { fd, size } = opened.getOrInsertComputed(path, () => {
      const file = openSync(join(root, path), "r");
      return { fd: file, size: fstatSync(file).size };
    });
    response.writeHead(200, { ...headers, "content-length": size }).flushHeaders();
    sendFrom(response, fd, 0, size);
    return;
  }
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

/** Passes a chunk to Node whenever the socket is full, in order to wait for it. */
function sendFrom(response: ServerResponse, file: number, from: number, size: number): void {
  const { fd } = (response.socket as unknown as { _handle: { fd: number } })._handle;
  let position = from;
  while (position < size && response.writableLength === 0) {
    const count = sendFile!(fd, file, position, size - position);
    if (count <= 0) break;
    position += count;
  }
  if (position >= size) return void response.end();
  const bytes = Buffer.alloc(Math.min(65_536, size - position));
  const count = readSync(file, bytes, 0, bytes.length, position);
  response.write(bytes.subarray(0, count), () => sendFrom(response, file, position + count, size));
}

process.once("SIGTERM", () => process.exit());
