import { createServer, type AddressInfo } from "node:net";

/**
 * A process for the tests of the supervisor. It sends its number and process id to each client of the inherited socket.
 */
const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.write(`${process.env["REELPOST_PROCESS"]} ${process.pid}\n`);
});
const stop = () => process.exit(0);
process.on("message", stop);
process.once("disconnect", stop);
server.listen({ fd: 3 }, () => process.send!({ event: "ready", server: (server.address() as AddressInfo).port }));
