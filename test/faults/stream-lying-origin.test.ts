import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { clip, needsFfmpeg } from "../support/media.ts";
import { uploadForm } from "./stream/senders.ts";
import { objectsByPrefix, waitForFinalState, startVideoServer, until } from "./stream/server.ts";

/** Starts an origin that reports false lengths for `file`. The URL path specifies the length in HEAD and in GET. */
function lyingOrigin(file: Buffer): Promise<{ server: Server; url(head: number, get: number): string }> {
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .once("data", (request: Buffer) => {
        const [, method, head, get] = /^(HEAD|GET) \/(\d+)\/(\d+)/.exec(request.toString("latin1"))!;
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: video/mp4\r\ncontent-length: ${method === "HEAD" ? head : get}\r\nconnection: close\r\n\r\n`,
        );
        socket.end(method === "HEAD" ? Buffer.alloc(0) : file);
      });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () =>
      resolve({
        server,
        url: (head, get) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${head}/${get}`,
      }),
    );
  });
}

test(
  "origins with a false length, and the server as its own origin, cause the documented status or state and leave nothing behind",
  { ...needsFfmpeg, timeout: 240_000 },
  async (t) => {
    const file = await readFile(await clip());
    const { server: origin, url } = await lyingOrigin(file);
    t.after(() => void origin.close());
    const server = await startVideoServer(t, {
      env: { REELPOST_STREAM_ALLOW_PRIVATE: "true", REELPOST_LOG_LEVEL: "warn" },
    });
    const good = await uploadForm(server, file);
    await waitForFinalState(server, good);
    const copy = (address: string) => server.api.call("post", "stream/copy", { body: { input: address } });
    const uidOf = async (address: string): Promise<string> => {
      const { status, body } = await copy(address);
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.result.status.state, "downloading");
      return body.result.uid;
    };
    assert.deepEqual(
      await copy(url(40 * 2 ** 30, file.length)).then(({ status, body }) => [status, body.errors[0].code]),
      [413, 10901],
    );
    assert.equal((await copy(url(0, file.length))).status, 400);
    const [honest, corrected, short, long, itself, page] = await Promise.all([
      uidOf(url(file.length, file.length)),
      uidOf(url(1000, file.length)),
      uidOf(url(1000, 1000)),
      uidOf(url(file.length, file.length + 1000)),
      uidOf(`${server.ready.url}/${good}/manifest/video.m3u8`),
      uidOf(`${server.ready.url}/${good}/iframe`),
    ]);
    for (const uid of [honest, corrected])
      assert.equal((await waitForFinalState(server, uid)).status.state, "ready", uid);
    for (const [uid, codes] of [
      [short, /MALFORMED|NON_VIDEO/],
      [itself, /NON_VIDEO|FETCH/],
      [page, /NON_VIDEO|FETCH/],
      [long, /FETCH/],
    ] as const) {
      const { status } = await waitForFinalState(server, uid);
      assert.equal(status.state, "error");
      assert.match(status.errorReasonCode, codes);
    }
    const all = [honest, corrected, short, long, itself, page];
    for (const uid of all) await server.api.ok("delete", `stream/${uid}`);
    const objects = join(server.dataDirectory, "objects");
    await until(
      () => objectsByPrefix(objects, "stream").every((name) => name.startsWith(good)),
      "deleted videos are removed from storage",
    );
    await until(() => objectsByPrefix(objects, ".partial").length === 0, "partial copies are removed too");
    assert.ok(!server.log().includes('"level":50'), server.log());
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  },
);
