import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import os from "node:os";
import { buffer } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { networkSet } from "./networks.ts";
import { resolveAllowed, createGuardedFetch, FetchError } from "./guarded-fetch.ts";
import { createOwnAddresses } from "./own-addresses.ts";

async function origin(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const failsWith = (kind: string, text?: RegExp) => (err: unknown) => {
  assert.ok(err instanceof FetchError, String(err));
  assert.equal(err.kind, kind, err.message);
  if (text) assert.match(err.message, text);
  return true;
};

const open = createGuardedFetch({ allowPrivate: true });
const guarded = createGuardedFetch({ allowPrivate: false });

test("rejects URLs that are not http or https", async () => {
  for (const url of [
    "",
    "video.mp4",
    "/etc/passwd",
    "file:///etc/passwd",
    "ftp://example.com/a",
    "gopher://example.com",
    "data:text/plain,hi",
    "http://user:secret@example.com/",
    "http://example.com:25/",
    "http://example.com/a\0",
    "\thttp://example.com/",
    "http://exam\nple.com/",
    `http://example.com/${"a".repeat(5000)}`,
  ]) {
    await assert.rejects(open(url), failsWith("badUrl"), url);
  }
});

test("rejects addresses of the local network in every notation, before connecting", async (t) => {
  let requested = 0;
  const at = await origin(t, (_, response) => void (requested++, response.end()));
  const { port } = new URL(at);
  for (const host of [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "10.0.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "[fe80::1]",
    "[fd00::1]",
    "localhost",
  ]) {
    await assert.rejects(guarded(`http://${host}:${port}/`, { headersTimeoutMs: 20_000 }), failsWith("refused"), host);
  }
  assert.equal(requested, 0);
});

test("rejects this machine's own addresses in every notation, even public ones", async (t) => {
  const interfaces = t.mock.method(
    os,
    "networkInterfaces",
    () =>
      ({
        eth0: [{ address: "93.184.216.34" }, { address: "2606:4700::1111" }, { address: "fe80::1%eth0" }],
      }) as unknown as ReturnType<typeof os.networkInterfaces>,
  );
  syncBuiltinESMExports();
  t.after(() => {
    interfaces.mock.restore();
    syncBuiltinESMExports();
  });
  for (const host of ["93.184.216.34", "[::ffff:93.184.216.34]", "[::ffff:5db8:d822]", "[2606:4700:0::1111]"])
    await assert.rejects(guarded(`http://${host}:9/`, { headersTimeoutMs: 20_000 }), failsWith("refused"), host);
});

test("rejects this machine's public addresses listed in the settings", async () => {
  const behindNat = createGuardedFetch({
    allowPrivate: false,
    own: createOwnAddresses({ addresses: ["93.184.216.34", "2606:4700::/64"] }).has,
  });
  for (const host of ["93.184.216.34", "[::ffff:5db8:d822]", "[2606:4700::1111]"])
    await assert.rejects(behindNat(`http://${host}:9/`, { headersTimeoutMs: 20_000 }), failsWith("refused"), host);
});

test("checks the addresses of a host name, and connects only to those", async (t) => {
  const at = await origin(t, (request, response) => void response.end(request.headers.host));
  const { port } = new URL(at);
  let answers: string[][] = [["10.0.0.1", "127.0.0.1"]];
  const requested: string[] = [];
  const lookup = async (host: string) => {
    requested.push(host);
    return answers.shift() ?? [];
  };
  await assert.rejects(
    createGuardedFetch({ allowPrivate: false, lookup })(`http://rebind.example:${port}/`),
    failsWith("refused", /^rebind\.example does not resolve to a public IP address$/),
  );
  // A second lookup before connecting would return a different address.
  answers = [["127.0.0.1"], ["192.0.2.1"]];
  const answer = await createGuardedFetch({ allowPrivate: true, lookup })(`http://rebind.example:${port}/`);
  assert.equal(await answer.text(100), `rebind.example:${port}`);
  assert.deepEqual(requested, ["rebind.example", "rebind.example"]);
  await assert.rejects(
    createGuardedFetch({ allowPrivate: true, lookup: async () => [] })("http://nothing.example/"),
    failsWith("unreachable"),
  );
});

test("connects only to the public addresses of a host name that has public and private ones, at most eight", async () => {
  const of = (addresses: string[], all = false) =>
    resolveAllowed(
      "mixed.example",
      async () => addresses,
      all ? undefined : networkSet(["203.0.114.7"], (address) => new Error(address)),
    );
  assert.deepEqual(
    await of([
      "127.0.0.1",
      "93.184.216.34",
      "10.0.0.1",
      "::1",
      "2606:4700::1111",
      "169.254.169.254",
      "203.0.114.7",
      "not an address",
    ]),
    ["93.184.216.34", "2606:4700::1111"],
  );
  assert.deepEqual(await of(["127.0.0.1", "10.0.0.1"], true), ["127.0.0.1", "10.0.0.1"]);
  assert.equal((await of(Array.from({ length: 20 }, (_, i) => `93.184.216.${i}`))).length, 8);
  await assert.rejects(of(["::ffff:127.0.0.1", "64:ff9b::a00:1"]), failsWith("refused"));
});

test("closes the connection of a redirect that is not followed", async (t) => {
  for (const location of [
    "ftp://example.com/a",
    "http://user:secret@example.com/",
    "http://example.com:25/",
    "http://[",
  ]) {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const at = await origin(t, (request, response) => {
      request.socket.once("close", () => resolve());
      // The response never ends.
      response.writeHead(302, { location }).write("x");
    });
    await assert.rejects(open(`${at}/`), failsWith("badUrl"), location);
    await gone;
  }
});

test("checks each redirect, follows at most five, and sends credentials only to their origin", async (t) => {
  const seen: (string | undefined)[] = [];
  const other = await origin(t, (request, response) => {
    seen.push(request.headers.authorization);
    response.end("there");
  });
  const at = await origin(t, (request, response) => {
    seen.push(request.headers.authorization);
    const n = Number(request.url!.slice(1));
    const location =
      request.url === "/private"
        ? "http://10.1.2.3/"
        : request.url === "/file"
          ? "file:///etc/passwd"
          : request.url === "/self"
            ? "/self"
            : n === 0
              ? `${other}/x`
              : `/${n - 1}`;
    response.writeHead(302, { location }).end("moved");
  });
  const answer = await open(`${at}/4`, { headers: { authorization: "Bearer x" } });
  assert.equal(await answer.text(100), "there");
  assert.equal(answer.url.href, `${other}/x`);
  assert.deepEqual(seen, [...Array.from({ length: 5 }, () => "Bearer x"), undefined]);
  await assert.rejects(open(`${at}/5`), failsWith("tooManyRedirects"));
  await assert.rejects(open(`${at}/self`), failsWith("tooManyRedirects"));
  await assert.rejects(open(`${at}/file`), failsWith("badUrl"));
  assert.equal((await open(`${at}/4`, { redirects: 0 })).status, 302);
  assert.equal((await open(`${at}/4`, { method: "POST", body: "{}" })).status, 302);
  // Only the first hop may be in the local network: the guard checks the second one separately.
  const { port } = new URL(at);
  let hops = 0;
  const mixed = createGuardedFetch({ allowPrivate: () => hops++ === 0 });
  await assert.rejects(mixed(`http://127.0.0.1:${port}/private`), failsWith("refused", /10\.1\.2\.3/));
});

test("counts the bytes received, regardless of the declared length", async (t) => {
  const at = await origin(t, (request, response) => {
    if (request.url === "/declared") return void response.writeHead(200, { "content-length": "5000" }).flushHeaders();
    if (request.url === "/short")
      return void (
        response.writeHead(200, { "content-length": "50" }),
        response.write("some"),
        setImmediate(() => response.destroy())
      );
    const more = () => {
      while (response.writable && response.write(Buffer.alloc(10_000)));
      if (response.writable) response.once("drain", more);
    };
    more();
  });
  await assert.rejects(buffer((await open(`${at}/declared`, { maxBytes: 4000 })).body), failsWith("tooLarge"));
  await assert.rejects(buffer((await open(`${at}/endless`, { maxBytes: 1_000_000 })).body), failsWith("tooLarge"));
  await assert.rejects(buffer((await open(`${at}/short`)).body), failsWith("unreachable", /incomplete/));
  assert.equal((await (await open(`${at}/endless`)).text(12_345)).length, 12_345);
});

test("aborts the request if the server does not respond or sends too slowly", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const requested = Promise.withResolvers<void>();
  const at = await origin(t, (request, response) => {
    if (request.url === "/silent") return requested.resolve();
    response.writeHead(200);
    response.write("drop");
  });
  const silent = assert.rejects(open(`${at}/silent`, { headersTimeoutMs: 5000 }), failsWith("tooSlow", /within 5 s/));
  await requested.promise;
  t.mock.timers.tick(5000);
  await silent;

  const drops = (await open(`${at}/drops`, { minBytesPerWindow: 1000 })).body[Symbol.asyncIterator]();
  assert.equal(String((await drops.next()).value), "drop");
  const second = assert.rejects(drops.next(), failsWith("tooSlow", /less than 1000 bytes were received in 30 s/));
  t.mock.timers.tick(30_000);
  await second;

  const long = await open(`${at}/drops`, { totalTimeoutMs: 10_000, minBytesPerWindow: 0 });
  const reading = assert.rejects(buffer(long.body), failsWith("tooSlow", /no complete response within 10 s/));
  t.mock.timers.tick(10_000);
  await reading;

  const controller = new AbortController();
  const aborted = open(`${at}/silent`, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(aborted, /enough/);
});
