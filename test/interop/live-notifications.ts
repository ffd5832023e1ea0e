import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Scope } from "./platform.ts";

/** Starts a server that receives live input notifications, as `name input event`. */
export async function receiveNotifications(scope: Scope) {
  const received: string[] = [];
  const server = createServer(
    (request, response) =>
      void buffer(request).then((body) => {
        const { name, data } = JSON.parse(body.toString()) as {
          name: string;
          data: { input_id: string; event_type: string };
        };
        received.push(`${name} ${data.input_id} ${data.event_type}`);
        response.writeHead(200).end();
      }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  scope.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}
