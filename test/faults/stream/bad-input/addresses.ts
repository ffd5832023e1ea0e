import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import type { BadInputFixture } from "./fixture.ts";

/** Tests with addresses that the server must not fetch. */
export function testBadAddresses(given: BadInputFixture): void {
  test("fetches nothing from this machine, from private networks, or over protocols other than HTTP", async () => {
    const { server, objects, good, call, onlyGood } = given;
    let visits = 0;
    const canary = createServer((socket) => (visits++, socket.destroy())).listen(0, "0.0.0.0");
    await new Promise((listening) => canary.once("listening", listening));
    const { port } = canary.address() as AddressInfo;
    const own = Object.values(networkInterfaces()).flatMap((all = []) =>
      all.map(({ address, family }) => (family === "IPv6" ? `[${address.split("%")[0]}]` : address)),
    );
    const hosts = [
      "127.0.0.1",
      "localhost",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "0.0.0.0",
      "2130706433",
      "0x7f.1",
      "127.1",
      "10.0.0.1",
      "192.168.0.1",
      "172.16.5.5",
      "100.64.0.1",
      "169.254.169.254",
      "[fe80::1]",
      "[fd00::1]",
      ...own,
    ];
    const urls = [
      ...hosts.map((host) => `http://${host}:${port}/clip.mp4`),
      `${server.ready.url}/${good}/manifest/video.m3u8`,
      `${server.ready.url}/${good}/downloads/default.mp4`,
      `file://${objects}/stream/${good}/source`,
      "file:///etc/passwd",
      `ftp://127.0.0.1:${port}/clip.mp4`,
      "gopher://127.0.0.1/",
      "data:video/mp4;base64,AAAA",
      `http://user:password@127.0.0.1:${port}/`,
      "concat:/etc/passwd",
      "clip.mp4",
      "",
    ];
    for (const url of urls) {
      const { status, body } = await call("post", "stream/copy", { body: { url } });
      assert.equal(status, 400, `${url}: ${JSON.stringify(body)}`);
      assert.ok([10005, 10010].includes(body.errors[0].code), `${url}: ${JSON.stringify(body)}`);
    }
    const here = `http://127.0.0.1:${port}/`;
    assert.equal(
      (await call("post", `stream/${good}/audio/copy`, { body: { url: here, label: "Deutsch" } })).status,
      400,
    );
    assert.equal((await call("post", "stream/watermarks", { body: { url: here } })).status, 400);
    assert.equal((await call("put", "stream/webhook", { body: { notificationUrl: here } })).status, 400);
    canary.close();
    assert.equal(visits, 0);
    await onlyGood();
  });
}
