import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { TestContext } from "node:test";
import packet from "dns-packet";

export interface Said {
  rcode?: string;
  answers?: packet.Answer[];
  authorities?: packet.Answer[];
  /** Default true. */
  recursive?: boolean;
  /** Sent instead of what was asked. */
  id?: number;
  question?: string;
  raw?: Buffer;
  /** Sent first. */
  before?: Said[];
}

/** What a resolver says to a question; nothing for silence. */
export type Script = (asked: {
  name: string;
  type: string;
  edns: boolean;
}) => Said | undefined | void | Promise<Said | undefined>;

const RCODES: Record<string, number> = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 };

/** A resolver on loopback that answers over UDP as a test tells it. */
export async function startScriptedServer(t: TestContext, script: Script) {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  let closed = false;
  socket.on("close", () => (closed = true));
  socket.on("message", async (message, { address, port }) => {
    const query = packet.decode(message);
    const { name, type } = query.questions![0]!;
    asked.push(`${name} ${type}`);
    const said = await script({ name: name.toLowerCase(), type, edns: (query.additionals ?? []).length > 0 });
    if (said === undefined || closed) return;
    for (const one of [...(said.before ?? []), said]) socket.send(written(one, query), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.after(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { port: socket.address().port, asked };
}

function written(
  { rcode = "NOERROR", answers = [], authorities = [], recursive = true, id, question, raw }: Said,
  query: packet.DecodedPacket,
): Buffer {
  if (raw !== undefined) return raw;
  const [asked] = query.questions!;
  const flags = packet.RECURSION_DESIRED | (recursive ? packet.RECURSION_AVAILABLE : 0) | RCODES[rcode]!;
  return packet.encode({
    type: "response",
    id: id ?? query.id!,
    flags,
    questions: [{ ...asked!, name: question ?? asked!.name }],
    answers,
    authorities,
  });
}
