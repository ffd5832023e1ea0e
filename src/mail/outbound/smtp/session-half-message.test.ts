import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { deliveryRequestOf, resolverOf } from "../outbound.testing.ts";
import { createDeliveryAgent } from "./delivery-agent.ts";

test("closes the connection when a host rejects a message during DATA, because no command may follow a partial message", async () => {
  let received = "";
  const closed = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let inData = false;
    socket.write("220 strict ESMTP\r\n");
    socket
      .on("error", () => {})
      .once("close", () => closed.resolve())
      .on("data", (chunk) => {
        const text = chunk.toString("latin1");
        if (inData) {
          if (received === "") socket.write("552 5.3.4 too big\r\n");
          received += text;
          return;
        }
        for (const command of text.split("\r\n").filter((line) => line !== "")) {
          inData = command === "DATA";
          socket.write(
            inData ? "354 go\r\n" : command.startsWith("EHLO") ? "250-strict\r\n250 8BITMIME\r\n" : "250 ok\r\n",
          );
        }
      });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const resolver = resolverOf({
    "there.example": { mx: [[10, "mx.there.example"]] },
    "mx.there.example": { a: ["127.0.0.1"] },
  });
  const agent = createDeliveryAgent({
    clock: createManualClock(0),
    log: silentLog,
    name: "out.example",
    resolver,
    port: (server.address() as AddressInfo).port,
  });
  after(() => agent.close());
  /** Yields a message whose second half never arrives. */
  async function* half() {
    yield Buffer.from("Subject: x\r\n\r\nhalf a message\r\n");
    await new Promise(() => {});
  }
  const parcel = {
    ...deliveryRequestOf(["b@there.example"]),
    body: { size: 1000, eightBit: false, utf8Header: false, open: () => Readable.from(half(), { objectMode: false }) },
  };
  const { results } = await agent.deliver("there.example", parcel, new AbortController().signal);
  assert.deepEqual([results[0]!.outcome, results[0]!.reply.code], ["permanent", 552]);
  await closed.promise;
  assert.doesNotMatch(received, /RSET|QUIT|MAIL FROM/);
});
