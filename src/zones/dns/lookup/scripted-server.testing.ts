import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { FLAG, RCODE_NAMES, writeMessage } from "../../../protocol/dns/index.ts";
import { draftOf, numberOf, readTestMessage, type TestRecord } from "../../../protocol/dns/message.testing.ts";

export interface Said {
  rcode?: string;
  answers?: TestRecord[];
  authorities?: TestRecord[];
  /** Default true. */
  recursive?: boolean;
  /** Replaces the values copied from the query. */
  id?: number;
  question?: string;
  raw?: Buffer;
  /** Messages sent before the response. */
  before?: Said[];
}

/** The response of a resolver to a query; undefined if it does not respond. */
export type Script = (asked: {
  name: string;
  type: string;
  edns: boolean;
}) => Said | undefined | void | Promise<Said | undefined>;

/** A resolver on loopback that sends scripted responses over UDP. */
export async function startScriptedServer(t: TestContext, script: Script) {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  let closed = false;
  socket.on("close", () => (closed = true));
  socket.on("message", async (message, { address, port }) => {
    const query = readTestMessage(message);
    const { name, type } = query.questions[0]!;
    asked.push(`${name} ${type}`);
    const said = await script({ name, type, edns: query.additionals.length > 0 });
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
  query: ReturnType<typeof readTestMessage>,
): Buffer {
  if (raw !== undefined) return raw;
  const [asked] = query.questions;
  return writeMessage({
    id: id ?? query.id,
    flags:
      FLAG.response |
      FLAG.recursionDesired |
      (recursive ? FLAG.recursionAvailable : 0) |
      (RCODE_NAMES as readonly string[]).indexOf(rcode),
    questions: [{ name: question ?? asked!.name, type: numberOf(asked!.type) }],
    answers: answers.map(draftOf),
    authorities: authorities.map(draftOf),
  });
}
