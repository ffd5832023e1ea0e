import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { after, describe, test, type TestContext } from "node:test";
import { createManualClock, systemClock } from "../../../kernel/index.ts";
import { signMessage, type TsigKey, verifyReply, writeUpdate } from "../../../protocol/dns/index.ts";
import { dataOf } from "../../records/content.ts";
import { recordDraft } from "../../records/change.ts";
import { exchange } from "./exchange.ts";
import { type Knot, knotd, startKnot } from "./knot.testing.ts";
import { providerConformance, refusedAs } from "./provider.conformance.ts";
import { createRfc2136Provider } from "./rfc2136.ts";

const zone = (name = "example.com") => ({ id: name, account: "a", name });
const txt = { owner: "x", add: [{ type: "TXT", name: "@", content: "ours" }], remove: [], mustBeAbsent: [] };
const MX = {
  owner: "x",
  add: [{ type: "MX", name: "@", content: "mx.example", priority: 1 }],
  remove: [],
  mustBeAbsent: [{ name: "example.com", type: "MX" as const }],
};

function onKnot() {
  const running: Knot[] = [];
  after(async () => void (await Promise.all(running.map((knot) => knot.stop()))));
  const open = async (zones?: Record<string, string>) => {
    const knot = await startKnot(zones);
    running.push(knot);
    return { knot, provider: createRfc2136Provider({ server: knot, key: knot.key, clock: systemClock }) };
  };

  providerConformance("rfc2136 on Knot", async () => {
    const { knot, provider } = await open();
    return {
      provider,
      zone: zone(),
      async foreign(request) {
        const { name, type, ...rest } = recordDraft(request, zone());
        const update = writeUpdate({
          id: 1,
          zone: "example.com",
          prerequisites: [],
          steps: [{ kind: "add", name, type, ttl: 60, data: dataOf({ type, ...rest }) }],
        });
        assert.equal((await exchange(knot, signMessage(update, knot.key, Date.now()).signed))[3]! & 15, 0);
      },
    };
  });

  describe("rfc2136 on Knot: failures", () => {
    let shared: ReturnType<typeof open> | undefined;
    const opened = () => (shared ??= open());
    const failure = async (
      options: { key?: Partial<TsigKey>; now?: number; port?: number },
      change = txt,
      name = "example.com",
    ) => {
      const { knot } = await opened();
      const clock = options.now === undefined ? systemClock : createManualClock(options.now);
      const err = await refusedAs(
        createRfc2136Provider({
          server: { host: knot.host, port: options.port ?? knot.port },
          key: { ...knot.key, ...options.key },
          clock,
        }).apply(zone(name), change),
      );
      return `${err.kind}: ${err.message}`;
    };

    test("reports a wrong secret, an unknown key, and a wrong clock", async () => {
      assert.match(await failure({ key: { secret: Buffer.alloc(32) } }), /^badKey: .*different secret/);
      assert.match(await failure({ key: { name: "nobody" } }), /^badKey: .*does not know the key/);
      assert.match(await failure({ now: Date.now() - 3_600_000 }), /^badKey: .*clock/);
    });

    test("reports an unknown zone, forbidden types, and an unreachable server", async () => {
      assert.match(await failure({}, txt, "example.net"), /^notServed|^badKey: .*may not change this zone/);
      assert.match(
        await failure({}, { ...MX, mustBeAbsent: [] }, "locked.example.com"),
        /^refused|^badKey: .*may not change this zone/,
      );
      assert.match(await failure({ port: 1 }), /^unreachable: .*ECONNREFUSED/);
    });

    test("changes nothing if a prerequisite fails", async () => {
      const { provider } = await opened();
      await provider.apply(zone(), { ...txt, add: [{ type: "CNAME", name: "alias", content: "x.example" }] });
      const refused = await refusedAs(
        provider.apply(zone(), {
          ...txt,
          add: [
            { type: "TXT", name: "fine", content: "x" },
            { type: "TXT", name: "alias", content: "x" },
          ],
        }),
      );
      assert.equal(refused.kind, "nameTaken");
      assert.deepEqual(await provider.current(zone(), [{ name: "fine.example.com", type: "TXT" }]), []);
    });
  });

  test("rfc2136: keeps an MX record that another client adds between read and write", async (t) => {
    const { knot } = await open();
    const theirs = writeUpdate({
      id: 3,
      zone: "example.com",
      prerequisites: [],
      steps: [
        { kind: "add", name: "example.com", type: "MX", ttl: 60, data: { priority: 9, target: "theirs.example" } },
      ],
    });
    let updates = 0;
    const between = await startProxy(t, knot, async (message) => {
      if (message[2] === 5 << 3 && updates++ === 0)
        await exchange(knot, signMessage(theirs, knot.key, Date.now()).signed);
    });
    const provider = createRfc2136Provider({ server: between, key: knot.key, clock: systemClock });
    const refused = await refusedAs(provider.apply(zone(), MX));
    assert.equal(refused.message, "example.com already has other MX records: 9 theirs.example.");
    assert.deepEqual(
      (await provider.current(zone(), MX.mustBeAbsent)).map(({ content }) => content),
      ["theirs.example"],
    );
  });

  test("rfc2136: the second of two identical conditional changes fails with YXRRSET", async () => {
    const { knot } = await open();
    const update = writeUpdate({
      id: 7,
      zone: "example.com",
      prerequisites: [{ kind: "noSet", name: "example.com", type: "MX" }],
      steps: [{ kind: "add", name: "example.com", type: "MX", ttl: 60, data: { priority: 1, target: "mx.example" } }],
    });
    const codes = [];
    for (let time = 0; time < 2; time++)
      codes.push((await exchange(knot, signMessage(update, knot.key, Date.now()).signed))[3]! & 15);
    assert.deepEqual(codes, [0, 7], "the second update is rejected with YXRRSET");
  });
}

/** Forwards single messages after passing them to `before`. */
async function startProxy(t: TestContext, to: Knot, before: (message: Buffer) => Promise<void>) {
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", async (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = received.subarray(2);
      await before(message);
      const reply = await exchange(to, message);
      socket.end(Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 255]), reply]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => new Promise((resolve) => server.close(resolve)));
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
}

if (knotd === undefined && process.env["REQUIRE_ALL"] !== "1") {
  process.stderr.write(
    "!! Knot DNS is not installed, dynamic updates are not tested. To install it: node scripts/system.ts test\n",
  );
  test("rfc2136 on Knot", { skip: "knotd is not installed" }, () => {});
} else {
  onKnot();
}

test("a signed message verifies only with its key, request and time", () => {
  const key: TsigKey = { name: "key.example", algorithm: "hmac-sha512", secret: Buffer.from("s") };
  const now = Date.UTC(2026, 1, 1);
  const request = signMessage(writeUpdate({ id: 1, zone: "example.com", prerequisites: [], steps: [] }), key, now);
  // A response is signed like a request, but its signature also covers the request's MAC. Here the MAC is missing, so
  // verification must fail.
  assert.equal(verifyReply(request.signed, key, request.mac, now), "forged");
  assert.equal(
    verifyReply(writeUpdate({ id: 1, zone: "example.com", prerequisites: [], steps: [] }), key, request.mac, now),
    "unsigned",
  );
});
