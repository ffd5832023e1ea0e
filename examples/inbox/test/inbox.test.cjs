// jest runs CommonJS without further configuration.
const { createServer } = require("reelpost/test");

/** @type {import("reelpost/test").TestServer} */
let server;

beforeAll(async () => {
  server = await createServer();
});
beforeEach(() => server.reset());
afterAll(() => server.close());

const receive = (subject) =>
  server.worker().email({
    from: "Ada <ada@example.com>",
    to: "me@example.net",
    subject,
    text: "See the attachment.",
    attachments: [{ filename: "notes.txt", type: "text/plain", content: Buffer.from("attached notes") }],
  });
const listed = async () => (await server.fetch("/api/messages")).json();

test("lists a received message with its attachment", async () => {
  expect((await receive("Notes")).outcome).toBe("ok");
  const { messages, counters } = await listed();
  expect(messages).toMatchObject([{ sender: "ada@example.com", senderName: "Ada", subject: "Notes" }]);
  expect(counters.messages).toBe(1);
  const [attachment] = messages[0].attachments;
  expect(attachment).toMatchObject({ name: "notes.txt", type: "text/plain" });
  expect(await (await server.fetch(attachment.url)).text()).toBe("attached notes");
});

test("starts each test with an empty mailbox", async () => {
  expect((await listed()).messages).toEqual([]);
});

test("rejects the message if the disk is full, and does not list it", async () => {
  await server.disk.fill();
  expect((await receive("Notes")).outcome).toBe("exception");
  await server.disk.free();
  expect((await listed()).messages).toEqual([]);
});
