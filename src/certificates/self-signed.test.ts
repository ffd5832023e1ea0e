import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { systemClock } from "../kernel/index.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import { createCertificateStore, makeSelfSigned } from "./index.ts";
import { parseKeyPair } from "./pair.ts";

/** Resolves with the certificate that a client receives for this server name. */
async function shownTo(t: TestContext, source: TlsSource, servername?: string): Promise<X509Certificate> {
  const server = createServer(
    { ...source.pem(), SNICallback: (name, done) => done(null, source.context(name)) },
    (socket) => socket.end(),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const client: TLSSocket = connect({
    port: (server.address() as AddressInfo).port,
    host: "127.0.0.1",
    rejectUnauthorized: false,
    ...(servername !== undefined && { servername }),
  });
  await once(client, "secureConnect");
  const shown = client.getPeerX509Certificate()!;
  client.destroy();
  return shown;
}

test("TLS clients accept a self-signed certificate for its names", () => {
  const pair = makeSelfSigned({ names: ["mx.example.com", "localhost"], clock: systemClock });
  const leaf = new X509Certificate(pair.cert);
  assert.deepEqual(pair.names, ["mx.example.com", "localhost"]);
  assert.ok(leaf.checkHost("mx.example.com") !== undefined && leaf.verify(leaf.publicKey));
  assert.ok(pair.notAfter - pair.notBefore > 3650 * 86_400_000);
});

test("a client receives the certificate for its SNI name, otherwise the first one", async (t) => {
  const make = (...names: string[]) => makeSelfSigned({ names, clock: systemClock });
  const [first, second, wild] = [make("a.example"), make("b.example"), make("*.wild.example")];
  const source = createCertificateStore(first);
  source.replace([first, second, wild]);
  const names = async (serverName?: string) => (await shownTo(t, source, serverName)).subjectAltName;
  assert.equal(await names(), "DNS:a.example");
  assert.equal(await names("b.example"), "DNS:b.example");
  assert.equal(await names("B.Example"), "DNS:b.example");
  assert.equal(await names("x.wild.example"), "DNS:*.wild.example");
  assert.equal(await names("x.y.wild.example"), "DNS:a.example");
  assert.equal(await names("elsewhere.example"), "DNS:a.example");
});

test("listeners are called for each change until they unsubscribe", () => {
  const pair = makeSelfSigned({ names: ["a.example"], clock: systemClock });
  const source = createCertificateStore(pair);
  let received = 0;
  const enough = source.onChange(() => received++);
  source.replace([pair]);
  enough();
  source.replace([pair]);
  assert.equal(received, 1);
});

test("rejects a key that does not belong to the certificate", () => {
  const [one, other] = ["a.example", "b.example"].map((name) => makeSelfSigned({ names: [name], clock: systemClock }));
  assert.throws(() => parseKeyPair({ cert: one!.cert, key: other!.key }), /another certificate/);
  assert.throws(() => parseKeyPair({ cert: "nothing", key: one!.key }));
  assert.throws(() => parseKeyPair({ cert: one!.cert, key: "nothing" }));
});
