import assert from "node:assert/strict";
import { randomBytes, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request, type RequestOptions } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { makeSelfSigned } from "../../src/certificates/index.ts";
import { silentLog, systemClock } from "../../src/kernel/index.ts";
import { startDnsServer } from "../../src/zones/dns/server.ts";
import { type ServedZones, type ServedRecord } from "../../src/zones/dns/served.ts";
import { freePort } from "../support/free-ports.ts";
import { startPebble, withPebble } from "../support/pebble.ts";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";
import { createApi, TOKEN } from "./serve-client.ts";

const httpsOf = ({ ready }: ServeProcess) => new URL((ready as unknown as { https: string }).https);

/** Resolves with the certificate presented to a client that requests this name. */
async function shownBy(server: ServeProcess, servername?: string): Promise<X509Certificate> {
  const client: TLSSocket = connect({
    port: Number(httpsOf(server).port),
    host: "127.0.0.1",
    rejectUnauthorized: false,
    ...(servername !== undefined && { servername }),
  });
  await once(client, "secureConnect");
  const shown = client.getPeerX509Certificate()!;
  client.destroy();
  return shown;
}

function get(
  server: ServeProcess,
  path: string,
  options: RequestOptions = {},
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const { port } = httpsOf(server);
    request({ host: "127.0.0.1", port, path, agent: false, ...options }, (response) => {
      let body = "";
      response
        .setEncoding("utf8")
        .on("data", (chunk: string) => (body += chunk))
        .on("end", () => resolve({ status: response.statusCode!, body }));
    })
      .on("error", reject)
      .end();
  });
}

/** Resolves with the response to a WebSocket upgrade request on an endpoint without WebSocket support. */
async function upgraded(server: ServeProcess): Promise<string> {
  const client = connect({ port: Number(httpsOf(server).port), host: "127.0.0.1", rejectUnauthorized: false });
  client.write(
    "GET /nothing HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
  );
  return text(client);
}

/** Polls every 50 ms: a separate process does not announce its state changes. */
async function until<Value>(
  look: () => Promise<Value>,
  done: (value: Value) => boolean,
  server: ServeProcess,
): Promise<Value> {
  for (const deadline = Date.now() + 60_000; ; await systemClock.sleep(50)) {
    const value = await look();
    if (done(value)) return value;
    assert.ok(Date.now() < deadline, server.log());
  }
}

test("without settings, HTTPS uses a self-signed certificate that persists across restarts", async (t) => {
  const dataDirectory = await temporaryFolder(t);
  const env = { REELPOST_TLS_HTTPS: "true", REELPOST_TLS_HTTPS_PORT: "0", REELPOST_SMTP_NAME: "mx.example.com" };
  const start = () => spawnServe(t, { dataDirectory, env });
  const server = await start();
  const shown = await shownBy(server);
  assert.match(shown.subjectAltName!, /^DNS:mx\.example\.com.*DNS:localhost/);
  const ca = shown.toString();
  assert.equal((await get(server, "/healthz", { ca, servername: "localhost" })).status, 200);
  const worker = await get(server, "/", { ca, servername: "localhost", headers: { host: "none.main.localhost" } });
  assert.deepEqual([worker.status, /no worker is deployed/.test(worker.body)], [404, true]);
  assert.equal(
    (
      await get(server, "/client/v4/user/tokens/verify", {
        ca,
        servername: "localhost",
        headers: { authorization: `Bearer ${server.ready.token}` },
      })
    ).status,
    200,
  );
  assert.match(await upgraded(server), /^HTTP\/1\.1 404/);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.equal((await shownBy(await start())).serialNumber, shown.serialNumber);
});

test("configured files are used, and reloaded when replaced, while a connection remains open", async (t) => {
  const folder = await temporaryFolder(t, "tls");
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const put = async (name: string) => {
    const pair = makeSelfSigned({ names: [name], clock: systemClock });
    await Promise.all([writeFile(cert, pair.cert), writeFile(key, pair.key)]);
  };
  await put("one.example");
  const server = await spawnServe(t, {
    env: {
      REELPOST_TLS_HTTPS: "true",
      REELPOST_TLS_HTTPS_PORT: "0",
      REELPOST_TLS_CERT_FILE: cert,
      REELPOST_TLS_KEY_FILE: key,
    },
  });
  const open = connect({
    port: Number(httpsOf(server).port),
    host: "127.0.0.1",
    servername: "one.example",
    ca: await readFile(cert),
  });
  await once(open, "secureConnect");
  await put("two.example");
  // Tests with and without a server name, which select the certificate in different ways.
  await until(
    () => shownBy(server, "two.example"),
    (shown) => shown.subjectAltName === "DNS:two.example",
    server,
  );
  assert.equal((await shownBy(server)).subjectAltName, "DNS:two.example");
  open.write("GET /healthz HTTP/1.1\r\nhost: one.example\r\nconnection: close\r\n\r\n");
  assert.match(String((await once(open, "data"))[0]), /^HTTP\/1\.1 200/);
});

test("missing files are reported with a suggested fix", async (t) => {
  await assert.rejects(
    spawnServe(t, { env: { REELPOST_TLS_CERT_FILE: "/nowhere/cert.pem", REELPOST_TLS_KEY_FILE: "/nowhere/key.pem" } }),
    /Cannot read \/nowhere\/cert\.pem/,
  );
});

/** A zone in which every name resolves to this machine. */
const allHere: ServedZones = {
  find: async () => ({ id: "z", name: "example.com", serial: 1, nameServers: ["ns1.example.net"] }),
  version: () => 1,
  occupied: async () => true,
  records: async (_, names) =>
    names.map(
      (name) => ({ name, type: "A", ttl: 60, data: { address: "127.0.0.1" }, flatten: false }) satisfies ServedRecord,
    ),
};

withPebble(() => {
  let cluster: Cluster | undefined;
  before(async () => void (cluster = await startCluster()));
  after(() => cluster?.stop());

  test("a wildcard certificate is validated through the zone and name server of the process that requests it", async (t) => {
    const dataDirectory = await temporaryFolder(t);
    const dnsPort = await freePort();
    const usual = { REELPOST_API_TOKEN: TOKEN, REELPOST_DNS_PORT: String(dnsPort) };
    const first = await spawnServe(t, { dataDirectory, env: usual });
    const api = createApi(first.ready, TOKEN);
    const { id: zone } = await api.ok("post", "/zones", {
      body: { name: "example.com", account: { id: api.account } },
    });
    await first.stop();

    const pebble = await startPebble(t, { dns: `127.0.0.1:${dnsPort}` });
    await writeFile(join(dataDirectory, "ca.pem"), pebble.ca);
    const server = await spawnServe(t, {
      dataDirectory,
      env: {
        ...usual,
        REELPOST_TLS_HTTPS: "true",
        REELPOST_TLS_HTTPS_PORT: "0",
        REELPOST_TLS_ACME_DIRECTORY: pebble.directory,
        REELPOST_TLS_ACME_CA_FILE: join(dataDirectory, "ca.pem"),
        REELPOST_TLS_ACME_NAMES: "*.example.com,example.com",
        REELPOST_TLS_ACME_CHALLENGE: "dns-01",
      },
    });
    const shown = await until(
      () => shownBy(server, "any.example.com"),
      ({ issuer }) => /Pebble/.test(issuer),
      server,
    );
    assert.equal(shown.subjectAltName, "DNS:*.example.com, DNS:example.com");
    const found = await get(server, "/healthz", { ca: await pebble.root(), servername: "any.example.com" });
    assert.equal(found.status, 200);
    assert.deepEqual(await createApi(server.ready, TOKEN).ok("get", `/zones/${zone}/dns_records`), []);
  });

  test("two processes get one certificate from an ACME server, and both use it for HTTPS", async (t) => {
    if (cluster === undefined) return t.skip("PostgreSQL is not installed");
    const url = await cluster.createDatabase();
    const dns = await startDnsServer({ zones: allHere, log: silentLog, hosts: ["127.0.0.1"], port: 0 });
    t.after(() => dns.close());
    const httpPort = await freePort();
    // A rejected nonce (RFC 8555 6.5) would repeat the order, which is counted below.
    const pebble = await startPebble(t, {
      dns: `127.0.0.1:${dns.port}`,
      httpPort,
      env: { PEBBLE_WFE_NONCEREJECT: "0" },
    });
    const folder = await temporaryFolder(t, "ca");
    await writeFile(join(folder, "ca.pem"), pebble.ca);
    const env = {
      REELPOST_API_TOKEN: TOKEN,
      REELPOST_DATABASE_URL: url,
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
      REELPOST_OBJECTS_DIR: await temporaryFolder(t, "objects"),
      REELPOST_TLS_HTTPS: "true",
      REELPOST_TLS_HTTPS_PORT: "0",
      REELPOST_TLS_ACME_DIRECTORY: pebble.directory,
      REELPOST_TLS_ACME_CA_FILE: join(folder, "ca.pem"),
      REELPOST_TLS_ACME_EMAIL: "ops@example.com",
      // The second name has the form of a worker's hostname, but belongs to no worker.
      REELPOST_TLS_ACME_NAMES: "mx.example.com,hello.main.example.com",
      REELPOST_WORKERS_DOMAIN: "example.com",
    };
    const one = await spawnServe(t, { env, args: ["--port", String(httpPort)] });
    const two = await spawnServe(t, { env });
    const shown = await Promise.all(
      [one, two].map((server) =>
        until(
          () => shownBy(server, "mx.example.com"),
          ({ issuer }) => /Pebble/.test(issuer),
          server,
        ),
      ),
    );
    assert.equal(shown[0]!.serialNumber, shown[1]!.serialNumber);
    assert.equal(pebble.log().match(/POST \/order-plz/g)?.length, 1);
    for (const server of [one, two])
      assert.match(
        (await get(server, "/metrics", { rejectUnauthorized: false })).body,
        /reelpost_tls_certificate_expires_seconds \d{10}/,
      );
  });
});
