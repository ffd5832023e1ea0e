// node bare-server.ts SINK_PORT: the lower bound for a Node server that relays each message before it replies
import { generateKeyPairSync, sign as signSync } from "node:crypto";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { promisify } from "node:util";

const sign = promisify(signSync);
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const sinkPort = Number(process.argv[2]);
const CRLF = "\r\n";
const END_OF_DATA = Buffer.from("\r\n.\r\n");
const SIGNED_BYTES = 600;

/**
 * Reads commands without checking them, collects the message, signs twice (RSA, 2048 bits, in the thread pool, like two
 * DKIM signatures), and relays the octets unchanged over an idle connection to the next hop. No parser, rules, log,
 * limits or timeouts.
 */
const server = createServer({ noDelay: true }, (socket) => {
  let chunks: Buffer[] | undefined;
  socket.on("error", () => {}).write(`220 bare ESMTP${CRLF}`);
  socket.on("data", (octets: Buffer) => {
    if (chunks !== undefined) {
      chunks.push(octets);
      const isComplete = octets.subarray(-5).equals(END_OF_DATA);
      if (!isComplete) return;
      const message = Buffer.concat(chunks);
      chunks = undefined;
      return void handle(message).then((reply) => socket.write(reply + CRLF));
    }
    const verb = octets.toString("latin1", 0, 4).toUpperCase();
    if (verb === "DATA") chunks = [];
    socket.write((verb === "DATA" ? "354 go" : verb === "QUIT" ? "221 bye" : "250 ok") + CRLF);
    if (verb === "QUIT") socket.end();
  });
});

async function handle(message: Buffer): Promise<string> {
  const head = message.subarray(0, SIGNED_BYTES);
  await Promise.all([sign("sha256", head, privateKey), sign("sha256", head, privateKey)]);
  const hop = idle.pop() ?? (await openHop());
  await hop.send(`MAIL FROM:<a@bench.example>${CRLF}RCPT TO:<b@sink.example>${CRLF}DATA${CRLF}`, 3);
  const reply = await hop.send(message, 1);
  idle.push(hop);
  return reply;
}

interface Hop {
  /** Resolves with the last of `replies` replies. */
  send(octets: string | Buffer, replies: number): Promise<string>;
}

const idle: Hop[] = [];

async function openHop(): Promise<Hop> {
  const socket: Socket = connect({ port: sinkPort, host: "127.0.0.1", noDelay: true });
  let missing = 1;
  let pending = Promise.withResolvers<string>();
  socket.on("data", (octets: Buffer) => {
    const lines = octets.toString("latin1").trimEnd().split(CRLF);
    missing -= lines.filter((line) => line[3] !== "-").length;
    if (missing === 0) pending.resolve(lines.at(-1)!);
  });
  const hop: Hop = {
    send(octets, replies) {
      missing = replies;
      pending = Promise.withResolvers();
      socket.write(octets);
      return pending.promise;
    },
  };
  await pending.promise;
  await hop.send(`EHLO bare${CRLF}`, 1);
  return hop;
}

server.listen(0, "127.0.0.1", () => console.log(`port ${(server.address() as AddressInfo).port}`));
