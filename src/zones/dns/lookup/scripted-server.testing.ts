import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { HEADER_FLAG, RCODE_NAMES, writeMessage } from "../../../protocol/dns/index.ts";
import { draftOf, numberOf, readTestMessage, type TestRecord } from "../../../protocol/dns/message.testing.ts";

export interface ScriptedResponse {
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
  before?: ScriptedResponse[];
}

/** The response of a resolver to a query; undefined if it does not respond. */
export type Script = (query: {
  name: string;
  type: string;
  edns: boolean;
}) => ScriptedResponse | undefined | void | Promise<ScriptedResponse | undefined>;

/** Starts a resolver on loopback that sends scripted responses over UDP. */
export async function startScriptedServer(t: TestContext, script: Script) {
  const queries: string[] = [];
  const socket = createSocket("udp4");
  let closed = false;
  socket.on("close", () => (closed = true));
  socket.on("message", async (message, { address, port }) => {
    const query = readTestMessage(message);
    const { name, type } = query.questions[0]!;
    queries.push(`${name} ${type}`);
    const response = await script({ name, type, edns: query.additionals.length > 0 });
    if (response === undefined || closed) return;
    for (const one of [...(response.before ?? []), response]) socket.send(written(one, query), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  t.after(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { port: socket.address().port, queries };
}

function written(
  { rcode = "NOERROR", answers = [], authorities = [], recursive = true, id, question, raw }: ScriptedResponse,
  query: ReturnType<typeof readTestMessage>,
): Buffer {
  if (raw !== undefined) return raw;
  const [first] = query.questions;
  return writeMessage({
    id: id ?? query.id,
    flags:
      HEADER_FLAG.response |
      HEADER_FLAG.recursionDesired |
      (recursive ? HEADER_FLAG.recursionAvailable : 0) |
      (RCODE_NAMES as readonly string[]).indexOf(rcode),
    questions: [{ name: question ?? first!.name, type: numberOf(first!.type) }],
    answers: answers.map(draftOf),
    authorities: authorities.map(draftOf),
  });
}
