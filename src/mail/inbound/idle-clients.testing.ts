import { connect, type Socket } from "node:net";

/**
 * A separate process, so that it has its own file descriptors: opens `count` connections and sends nothing. Prints one
 * line per hundred greetings and a last line when all have been received; keeps the connections open until standard
 * input ends.
 *
 *     node idle-clients.testing.ts <port> <count> <connections of one address> [DATA]
 */
const [port, count, perAddress] = process.argv.slice(2, 5).map(Number) as [number, number, number];
const inData = process.argv[5] === "DATA";
const AT_ONCE = 100;

const held: Socket[] = [];
let next = 0;
let greeted = 0;
let refused = 0;

/** 127.0.1.1, 127.0.1.2 ...: all of 127.0.0.0/8 is the local machine. */
const addressOf = (index: number) => `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;

function one(): Promise<void> {
  const index = Math.floor(next++ / perAddress);
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, localAddress: addressOf(index + 1) });
    held.push(socket);
    socket
      .setEncoding("latin1")
      .on("error", () => {})
      .on("close", resolve)
      .once("data", (text: string) => {
        if (!text.startsWith("220")) refused++;
        else if (++greeted % 100 === 0) process.stdout.write(`${greeted}\n`);
        if (inData && text.startsWith("220"))
          socket.write("HELO x\r\n", () =>
            socket.once("data", () => socket.write("MAIL FROM:<a@b.example>\r\nRCPT TO:<b@here.example>\r\nDATA\r\n")),
          );
        resolve();
      });
  });
}

async function lane() {
  while (next < count) await one();
}

await Promise.all(Array.from({ length: AT_ONCE }, lane));
process.stdout.write(`done ${JSON.stringify({ greeted, refused })}\n`);
process.stdin.resume().on("end", () => process.exit(0));
