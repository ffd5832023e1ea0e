import { createServer as createHttpServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createServer, type TestServer } from "reelpost/test";

let receiver: Server;
let server: TestServer;
let notices: { subject: string; from: string }[] = [];
let status = 200;

beforeAll(async () => {
  receiver = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (status === 200) notices.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  server = await createServer({ vars: { NOTIFY_URL: `http://127.0.0.1:${port}/mail` } });
});
beforeEach(async () => {
  notices = [];
  status = 200;
  await server.reset();
});
afterAll(async () => {
  await server.close();
  receiver.closeAllConnections();
  receiver.close();
});

const receive = (subject: string) =>
  server.worker().email({ from: "ada@example.com", to: "me@example.net", subject, text: "Hello" });
const pending = async () => ((await (await server.fetch("/")).json()) as { pending: unknown[] }).pending;

test("calls the URL when a message arrives", async () => {
  const { outcome, logs } = await receive("First");
  expect(outcome).toBe("ok");
  expect(notices).toMatchObject([{ subject: "First", from: "ada@example.com" }]);
  expect(logs.map(({ message }) => message)).toEqual([expect.stringContaining('of "First"')]);
});

test("stores a notice that fails, and delivers it after the next one", async () => {
  status = 503;
  expect((await receive("First")).outcome).toBe("ok");
  expect(await pending()).toMatchObject([{ why: "it answered 503" }]);
  status = 200;
  await receive("Second");
  expect(notices.map(({ subject }) => subject)).toEqual(["Second", "First"]);
  expect(await pending()).toEqual([]);
});

test("drops a notification that could not be delivered for seven days", async () => {
  status = 503;
  await receive("First");
  expect(await pending()).toHaveLength(1);
  await server.clock.advance({ days: 7, minutes: 1 });
  expect(await pending()).toEqual([]);
});
