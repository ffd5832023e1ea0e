import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { connect as connectTls } from "node:tls";
import { onEveryDatabase } from "../../test/support/databases.ts";
import { createClientAddress } from "../kernel/client-address.ts";
import { randomIds, silentLog, systemClock } from "../kernel/index.ts";
import { createSecrets, type Db } from "../store/index.ts";
import { createNodeIdentity } from "./authority.ts";
import { createForwarder, type ForwardFailure } from "./forwarder.ts";
import { listenForNodes } from "./listener.ts";
import { clusterMigrations } from "./migrations.ts";
import type { ClusterNode } from "./nodes-table.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const newSecrets = () => createSecrets({ keys: [randomBytes(32)] });

const nodeAt = (id: string, port: number): ClusterNode => ({
  id,
  name: id.slice(0, 4),
  address: `127.0.0.1:${port}`,
  roles: ["api"],
  version: "1.0.0",
  load: 0,
  startedAt: 0,
  silentMs: 0,
  isDraining: false,
});

function setUpNodes(t: TestContext, db: Db) {
  const secrets = newSecrets();
  const nodes: ClusterNode[] = [];

  async function identityOf(id: string) {
    const identity = await createNodeIdentity({ db, secrets, clock: systemClock, log: silentLog, id });
    t.after(identity.close);
    return identity;
  }

  /** Starts a node with an internal listener. */
  async function startNode(handler: Handler, upgrade: Parameters<typeof listenForNodes>[1]["handlers"]["upgrade"]) {
    const id = randomIds.hex();
    const listener = await listenForNodes(
      { host: "127.0.0.1", port: 0 },
      { identity: await identityOf(id), handlers: { request: handler, upgrade }, log: silentLog, graceMs: 0 },
    );
    t.after(listener.close);
    nodes.push(nodeAt(id, listener.port));
    return { id, port: listener.port };
  }

  /** Starts a node that forwards all requests. Resolves with its port. */
  async function startFront() {
    const id = randomIds.hex();
    const forwarder = createForwarder({
      id,
      nodes: () => nodes,
      identity: await identityOf(id),
      log: silentLog,
      limits: { connectMs: 20_000 },
    });
    t.after(forwarder.close);
    const address = createClientAddress(["127.0.0.1"]);
    const targetOf = (request: IncomingMessage) => ({
      role: "api",
      client: { ip: address.ip(request), scheme: address.scheme(request) },
      affinity: "constant",
    });
    const failures: ForwardFailure[] = [];
    const server = createServer(async (request, response) => {
      const failure = await forwarder.request(targetOf(request), request, response);
      if (failure === undefined) return;
      failures.push(failure);
      response.writeHead(failure.status).end();
    });
    server.on("upgrade", (request, socket, head) => void forwarder.upgrade(targetOf(request), request, socket, head));
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return { port: (server.address() as AddressInfo).port, forwarder, failures };
  }

  return { nodes, startNode, startFront, identityOf };
}

const refuse = (_: IncomingMessage, socket: { destroy(): void }) => socket.destroy();

onEveryDatabase((engine) => {
  async function setUp(t: TestContext) {
    const { db } = await engine.open(t, clusterMigrations);
    return setUpNodes(t, db);
  }

  test("streams requests and responses, and forwards the host and the client's address", async (t) => {
    const { startNode, startFront } = await setUp(t);
    const address = createClientAddress([]);
    await startNode((request, response) => {
      const { host, "x-own": own } = request.headers;
      const names = Object.keys(request.headers).filter((name) => name.startsWith("reelpost-"));
      response.writeHead(201, "Made", {
        "x-seen": JSON.stringify([
          host,
          own,
          request.url,
          address.ip(request),
          address.scheme(request),
          names,
          request.rawHeaders.filter((name) => /^reelpost-/i.test(name)),
        ]),
        "set-cookie": ["a=1", "b=2"],
      });
      request.pipe(response);
    }, refuse);
    const { port } = await startFront();
    const request = httpRequest({
      host: "127.0.0.1",
      port,
      method: "PUT",
      path: "/a/b?c=d",
      headers: {
        host: "videos.example.com",
        "x-own": "1",
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-proto": "https",
        "reelpost-client-ip": "192.0.2.1",
        "transfer-encoding": "chunked",
      },
    });
    request.write("first ");
    const [response] = (await once(request, "response")) as [IncomingMessage];
    // The response begins before the request has ended: neither is buffered.
    const [first] = (await once(response, "data")) as [Buffer];
    assert.equal(first.toString(), "first ");
    request.end("second");
    assert.equal(await text(response), "second");
    assert.equal(response.statusCode, 201);
    assert.equal(response.statusMessage, "Made");
    assert.deepEqual(response.headers["set-cookie"], ["a=1", "b=2"]);
    assert.deepEqual(JSON.parse(response.headers["x-seen"] as string), [
      "videos.example.com",
      "1",
      "/a/b?c=d",
      "203.0.113.9",
      "https",
      [],
      [],
    ]);
  });

  test("an upgraded connection carries data in both directions until one side closes it", async (t) => {
    const { startNode, startFront } = await setUp(t);
    await startNode(
      (_, response) => response.end(),
      (request, socket) => {
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${request.headers["sec-websocket-key"]}\r\n\r\nhello`,
        );
        socket.on("data", (data: Buffer) => (data.toString() === "end" ? socket.end() : socket.write(data)));
      },
    );
    const { port } = await startFront();
    const client = connect(port, "127.0.0.1");
    client.write(
      "GET /tail HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: k\r\n\r\n",
    );
    let received = "";
    client.setEncoding("utf8").on("data", (data: string) => {
      received += data;
      if (received.endsWith("hello")) client.write("ping");
      if (received.endsWith("ping")) client.write("end");
    });
    await once(client, "close");
    assert.match(received, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
    assert.match(received, /\r\nsec-websocket-accept: k\r\n/);
    assert.match(received, /\r\n\r\nhelloping$/);
  });

  test("forwards the response of a node that rejects an upgrade", async (t) => {
    const { startNode, startFront } = await setUp(t);
    await startNode(
      (_, response) => response.end(),
      (_, socket) => void socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno"),
    );
    const { port } = await startFront();
    const client = connect(port, "127.0.0.1");
    client.write("GET /tail HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n");
    assert.match(await text(client), /^HTTP\/1\.1 404 Not Found\r\n[^]*\r\n\r\nno$/);
  });

  test("sends a request to another node if the first is unreachable or stops before it responds", async (t) => {
    const { nodes, startNode, startFront } = await setUp(t);
    const counts = { living: 0 };
    await startNode((request) => {
      request.socket.destroy();
    }, refuse);
    const { port, failures } = await startFront();
    const url = `http://127.0.0.1:${port}/`;
    // The only node received the request and stopped: the effects are unknown.
    assert.equal((await fetch(url)).status, 502);
    assert.equal((await fetch(url, { method: "POST", body: "x" })).status, 502);
    assert.match(failures[1]!.text, /may have taken effect/);
    await startNode((request, response) => {
      counts.living++;
      response.end(request.method);
    }, refuse);
    // Nothing listens at this address.
    nodes.push(nodeAt(randomIds.hex(), 1));
    const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await fetch(url)).status));
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(counts.living, 5);
    nodes.splice(0, nodes.length, nodeAt(randomIds.hex(), 1));
    assert.equal((await fetch(url)).status, 502);
    assert.match(failures.at(-1)!.text, /No node .* is reachable/);
  });

  test("forwards the response of a node that closes its connection before it has received the body", async (t) => {
    const { startNode, startFront } = await setUp(t);
    await startNode((request, response) => {
      if (request.method === "GET") response.end("next");
      else response.writeHead(413, { connection: "close" }).end("too large");
    }, refuse);
    const { port } = await startFront();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    const send = async (method: string, body?: Buffer) => {
      const request = httpRequest({ host: "127.0.0.1", port, method, agent, timeout: 60_000 });
      request.on("timeout", () => request.destroy(new Error("the connection is stuck")));
      request.end(body);
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return [response.statusCode, await text(response)];
    };
    assert.deepEqual(await send("POST", Buffer.alloc(50_000_000)), [413, "too large"]);
    // The front node has read the rest of the body, so the client can reuse its connection.
    assert.deepEqual(await send("GET"), [200, "next"]);
  });

  test("closes the connections to a node that has left the cluster", async (t) => {
    const { nodes, startNode, startFront } = await setUp(t);
    await startNode((_, response) => void response.write("begun"), refuse);
    const { port, forwarder } = await startFront();
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const reader = response.body!.getReader();
    assert.equal(Buffer.from((await reader.read()).value!).toString(), "begun");
    nodes.length = 0;
    forwarder.closeStale();
    await assert.rejects(reader.read());
    assert.equal(forwarder.canForward("api"), false);
  });

  test("rejects a node whose certificate is from another authority, both as client and as server", async (t) => {
    const { nodes, startNode, startFront, identityOf } = await setUp(t);
    const { db: otherDatabase } = await engine.open(t, clusterMigrations);
    const foreignId = randomIds.hex();
    const foreign = await createNodeIdentity({
      db: otherDatabase,
      secrets: newSecrets(),
      clock: systemClock,
      log: silentLog,
      id: foreignId,
    });
    t.after(foreign.close);
    let handled = 0;
    const own = await startNode((_, response) => void (handled++, response.end()), refuse);

    /** Resolves with the response, or with the message of the error. */
    async function requestWith(credentials: object): Promise<string> {
      const socket = connectTls({ host: "127.0.0.1", port: own.port, rejectUnauthorized: false, ...credentials });
      socket.write("GET / HTTP/1.1\r\nhost: a\r\nreelpost-client-scheme: http\r\nconnection: close\r\n\r\n");
      return text(socket).catch((err: Error) => err.message);
    }
    const { ca, ...foreignPair } = foreign.tls();
    assert.doesNotMatch(await requestWith(foreignPair), /^HTTP/);
    assert.doesNotMatch(await requestWith({}), /^HTTP/);
    assert.equal(handled, 0);
    const { cert, key } = (await identityOf(randomIds.hex())).tls();
    assert.match(await requestWith({ cert, key }), /^HTTP\/1\.1 200/);
    assert.ok(ca.startsWith("-----BEGIN CERTIFICATE-----"));

    // A foreign node listens at an address that the node list contains.
    const impostor = await listenForNodes(
      { host: "127.0.0.1", port: 0 },
      {
        identity: foreign,
        handlers: { request: (_, response) => void (handled++, response.end()), upgrade: refuse },
        log: silentLog,
        graceMs: 0,
      },
    );
    t.after(impostor.close);
    nodes.splice(0, nodes.length, nodeAt(foreignId, impostor.port));
    const { port } = await startFront();
    assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 502);
    // A node of this cluster listens at the address of another one: its certificate has a different id.
    nodes.splice(0, nodes.length, nodeAt(randomIds.hex(), own.port));
    assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 502);
    assert.equal(handled, 1);
  });
});
