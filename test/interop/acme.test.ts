import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, createServer as createTlsServer } from "node:tls";
import {
  createAcmeCertificates,
  createDnsSolver,
  createHttpSolver,
  certificatesMigrations,
  makeSelfSigned,
} from "../../src/certificates/index.ts";
import { type AcmeCertificatesOptions } from "../../src/certificates/from-acme.ts";
import { type HttpSolver } from "../../src/certificates/acme/http-solver.ts";
import { randomIds, silentLog, systemClock, type Clock } from "../../src/kernel/index.ts";
import type { TlsSource } from "../../src/kernel/tls-source.ts";
import {
  createLocalEvents,
  createSecrets,
  openPostgresEvents,
  type Db,
  type Events,
  type Secrets,
} from "../../src/store/index.ts";
import { createDnsTxtRecords } from "../../src/zones/dns/dns-texts.ts";
import { createEmbeddedProvider } from "../../src/zones/dns/provider/embedded.ts";
import { createZones, zonesMigrations } from "../../src/zones/index.ts";
import { startDnsServer } from "../../src/zones/dns/server.ts";
import { onEveryDatabase, onPostgres, type TestEngine } from "../support/databases.ts";
import { startPebble, withPebble, type Pebble, type PebbleOptions } from "../support/pebble.ts";

/** Returns the system clock moved forward. The duration of sleeps is unchanged. */
function movedClock(): Clock & { moveTo(at: number): void } {
  let by = 0;
  return { now: () => Date.now() + by, sleep: systemClock.sleep, moveTo: (at) => void (by = at - Date.now()) };
}

/**
 * Resolves with a database, the zone example.com in which every name resolves to 127.0.0.1, Reelpost's name server for
 * it, an HTTP port that serves challenge responses, and Pebble.
 */
async function world(
  t: TestContext,
  engine: TestEngine,
  { clock = movedClock(), ...pebbleOptions }: Partial<PebbleOptions> & { clock?: ReturnType<typeof movedClock> } = {},
) {
  // Registered first, so it runs before the database is closed.
  const users: { close(): Promise<void> }[] = [];
  t.after(async () => void (await Promise.all(users.map((user) => user.close()))));
  const { db, another, where } = await engine.open(t, [...zonesMigrations, ...certificatesMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const zones = createZones({ db, clock, ids: randomIds, events, nameServers: ["ns1.example.net"] });
  const zone = await zones.create({ account: "a".repeat(32), name: "example.com" });
  for (const name of ["example.com", "*.example.com"])
    await zones.records.create(zone, { type: "A", name, content: "127.0.0.1" });
  const dns = await startDnsServer({ zones: zones.served, log: silentLog, hosts: ["127.0.0.1"], port: 0 });
  const solver = createHttpSolver({ db, clock });
  const http = createHttpServer(
    (request, response) => void solver.respond(request, response).then((done) => done || response.writeHead(404).end()),
  );
  await once(http.listen(0, "127.0.0.1"), "listening");
  t.after(async () => {
    http.close();
    await dns.close();
    zones.close();
    await events.close();
  });
  const pebble = await startPebble(t, {
    dns: `127.0.0.1:${dns.port}`,
    httpPort: (http.address() as AddressInfo).port,
    ...pebbleOptions,
  });
  const secrets = createSecrets({ keys: [randomBytes(32)] });
  return {
    users,
    db,
    another,
    where,
    events,
    clock,
    zones,
    zone,
    solver,
    pebble,
    secrets,
    texts: createDnsTxtRecords({ zones, provider: createEmbeddedProvider(zones), clock, isSingleProcess: true }),
  };
}

interface Parts {
  users: { close(): Promise<void> }[];
  db: Db;
  events: Events;
  secrets: Secrets;
  clock: Clock;
  pebble: Pebble;
  solver: HttpSolver;
}

async function certificatesOf(
  { users, db, events, secrets, clock, pebble, solver }: Parts,
  names: string[][],
  options: Partial<AcmeCertificatesOptions> = {},
) {
  const certificates = await createAcmeCertificates({
    db,
    events,
    secrets,
    clock,
    ids: randomIds,
    log: silentLog,
    directory: pebble.directory,
    ca: pebble.ca,
    contact: ["mailto:ops@example.com"],
    solver,
    ownNames: names,
    tenantHosts: async () => [],
    fallback: makeSelfSigned({ names: ["fallback.example"], clock }),
    pollMs: 50,
    ...options,
  });
  users.push(certificates);
  return certificates;
}

const namesIn = (source: TlsSource, serverName?: string) =>
  new X509Certificate(source.pem(serverName).cert).subjectAltName;

/** Resolves once `done` returns true, checked after each change. */
function changed(source: TlsSource, done: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const end = source.onChange(look);
    function look() {
      if (!done()) return;
      end();
      resolve();
    }
    look();
  });
}

const rowsOf = (db: Db) =>
  db.tables<{ tls_certificates: Record<string, unknown> }>().selectFrom("tls_certificates").selectAll().execute();
const proofsOf = (db: Db) =>
  db.tables<{ acme_proofs: Record<string, unknown> }>().selectFrom("acme_proofs").selectAll().execute();

withPebble(() => {
  onEveryDatabase((engine) => {
    test("a certificate is obtained by http-01, is trusted, survives a restart and is stored in encrypted form", async (t) => {
      const parts = await world(t, engine);
      const first = await certificatesOf(parts, [["mx.example.com", "API.example.com"]]);
      assert.equal(namesIn(first), "DNS:fallback.example");
      first.start();
      await changed(first, () => namesIn(first) === "DNS:mx.example.com, DNS:api.example.com");
      await first.close();
      assert.deepEqual(await proofsOf(parts.db), []);
      const [row] = await rowsOf(parts.db);
      assert.doesNotMatch(JSON.stringify(row), /PRIVATE/);

      const again = await certificatesOf(parts, [["api.example.com", "mx.example.com"]]);
      assert.equal(again.pem().cert, first.pem().cert);
      const server = createTlsServer({ ...again.pem() }, (socket) => socket.end());
      await once(server.listen(0, "127.0.0.1"), "listening");
      const client = connect({
        port: (server.address() as AddressInfo).port,
        host: "127.0.0.1",
        servername: "mx.example.com",
        ca: await parts.pebble.root(),
      });
      await once(client, "secureConnect");
      assert.ok(client.authorized);
      client.destroy();
      server.close();
    });

    test("a wildcard and its domain are validated by dns-01 through Reelpost's name server, and no record is left behind", async (t) => {
      const parts = await world(t, engine);
      const certificates = await certificatesOf(parts, [["*.example.com", "example.com"]], {
        solver: createDnsSolver(parts.texts),
      });
      certificates.start();
      await changed(certificates, () => namesIn(certificates) === "DNS:*.example.com, DNS:example.com");
      await certificates.close();
      assert.deepEqual(await parts.zones.records.managed.at(parts.zone.id, "_acme-challenge.example.com"), []);
    });

    test("a certificate is renewed after two thirds of its lifetime with the same key, while connections stay open", async (t) => {
      const parts = await world(t, engine);
      const certificates = await certificatesOf(parts, [["mx.example.com"]]);
      certificates.start();
      await changed(certificates, () => namesIn(certificates) === "DNS:mx.example.com");
      const before = new X509Certificate(certificates.pem().cert);

      const server = createTlsServer(
        { ...certificates.pem(), SNICallback: (name, done) => done(null, certificates.context(name)) },
        (socket) => void socket.pipe(socket),
      );
      t.after(() => server.close());
      await once(server.listen(0, "127.0.0.1"), "listening");
      const dial = async () => {
        const socket = connect({
          port: (server.address() as AddressInfo).port,
          host: "127.0.0.1",
          servername: "mx.example.com",
          rejectUnauthorized: false,
        });
        t.after(() => void socket.destroy());
        await once(socket, "secureConnect");
        return socket;
      };
      const open = await dial();

      const life = before.validToDate.getTime() - before.validFromDate.getTime();
      parts.clock.moveTo(before.validFromDate.getTime() + life * 0.6);
      await certificates.refresh();
      assert.equal(new X509Certificate(certificates.pem().cert).serialNumber, before.serialNumber);
      parts.clock.moveTo(before.validFromDate.getTime() + life * 0.67);
      await certificates.refresh();
      const after = new X509Certificate(certificates.pem().cert);
      assert.notEqual(after.serialNumber, before.serialNumber);
      assert.ok(after.publicKey.equals(before.publicKey));

      open.write("still here");
      assert.equal(String((await once(open, "data"))[0]), "still here");
      assert.equal(open.getPeerX509Certificate()!.serialNumber, before.serialNumber);
      assert.equal((await dial()).getPeerX509Certificate()!.serialNumber, after.serialNumber);
    });

    test("a failed validation is retried later with its reason logged, and leaves nothing behind", async (t) => {
      const parts = await world(t, engine, { httpPort: 1 });
      const certificates = await certificatesOf(parts, [["mx.example.com"]]);
      certificates.start();
      await certificates.refresh();
      assert.equal(namesIn(certificates), "DNS:fallback.example");
      const [row] = await rowsOf(parts.db);
      assert.match(String(row!["error"]), /could not validate mx\.example\.com \(http-01\): .*refused/i);
      assert.equal(row!["failures"], 1);
      assert.ok(Number(row!["next_at"]) > parts.clock.now() + 4 * 60_000);
      assert.deepEqual([row!["lease"], await proofsOf(parts.db)], [null, []]);
    });

    test("a name outside the served zones fails early and is retried within a minute", async (t) => {
      const parts = await world(t, engine);
      const certificates = await certificatesOf(parts, [["mx.elsewhere.example"]], {
        solver: createDnsSolver(parts.texts),
      });
      certificates.start();
      await certificates.refresh();
      const [row] = await rowsOf(parts.db);
      assert.match(
        String(row!["error"]),
        /_acme-challenge\.mx\.elsewhere\.example: no zone on this server contains it/,
      );
      assert.ok(Number(row!["next_at"]) <= parts.clock.now() + 60_000);
    });

    // At a rejection rate of 20 %, eleven rejections in a row, which is the client's limit, are too rare to fail the
    // test.
    test("a certificate is obtained from an ACME server that rejects nonces, reuses authorizations and has a long chain", async (t) => {
      const parts = await world(t, engine, {
        env: {
          PEBBLE_VA_NOSLEEP: "1",
          PEBBLE_WFE_NONCEREJECT: "20",
          PEBBLE_AUTHZREUSE: "100",
          PEBBLE_CHAIN_LENGTH: "3",
        },
      });
      const names = [["mx.example.com"]];
      const certificates = await certificatesOf(parts, names);
      certificates.start();
      await changed(certificates, () => namesIn(certificates) === "DNS:mx.example.com");
      assert.equal(certificates.pem().cert.match(/BEGIN CERTIFICATE/g)?.length, 4);
      names.push(["mx.example.com", "api.example.com"]);
      await certificates.refresh();
      assert.equal(namesIn(certificates, "api.example.com"), "DNS:mx.example.com, DNS:api.example.com");
      assert.equal(namesIn(certificates, "mx.example.com"), "DNS:mx.example.com");
    });

    test("a certificate remains in use while the ACME server is unavailable", async (t) => {
      const parts = await world(t, engine);
      const certificates = await certificatesOf(parts, [["mx.example.com"]]);
      certificates.start();
      await changed(certificates, () => namesIn(certificates) === "DNS:mx.example.com");
      const { cert } = certificates.pem();
      await parts.pebble.stop();
      parts.clock.moveTo(new X509Certificate(cert).validToDate.getTime() - 1000);
      await certificates.refresh();
      assert.equal(certificates.pem().cert, cert);
      assert.match(String((await rowsOf(parts.db))[0]!["error"]), /ECONNREFUSED/);
    });
  });

  onPostgres((engine) => {
    test("one of two processes orders the certificate, and both serve it", async (t) => {
      // A rejected nonce repeats a request, so the number of requests would not be the number of orders.
      const parts = await world(t, engine, { env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "0" } });
      const events = async () => {
        const opened = await openPostgresEvents({
          url: (parts.where as { url: string }).url,
          clock: systemClock,
          log: silentLog,
        });
        parts.users.push(opened);
        return opened;
      };
      const both = await Promise.all(
        [0, 1].map(async () =>
          certificatesOf({ ...parts, db: await parts.another(), events: await events() }, [
            ["mx.example.com"],
            ["other.example.com"],
          ]),
        ),
      );
      for (const one of both) one.start();
      await Promise.all(
        both.map((one) =>
          changed(
            one,
            () =>
              namesIn(one) === "DNS:mx.example.com" && namesIn(one, "other.example.com") === "DNS:other.example.com",
          ),
        ),
      );
      assert.equal(both[0]!.pem().cert, both[1]!.pem().cert);
      assert.equal(both[0]!.pem("other.example.com").key, both[1]!.pem("other.example.com").key);
      await Promise.all(both.map((one) => one.close()));
      // One order per certificate, and one account for both.
      assert.equal(parts.pebble.log().match(/POST \/order-plz/g)?.length, 2);
      assert.equal((await rowsOf(parts.db)).length, 2);
    });
  });
});
