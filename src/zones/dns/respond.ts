import type { Clock, Log } from "../../kernel/index.ts";
import {
  emptyReply,
  type Header,
  MalformedMessage,
  MAX_MESSAGE_OCTETS,
  type Query,
  RCODE,
  readDnsHeader,
  readQuery,
  type DnsReply,
  udpLimit,
  writeHeaderOnlyReply,
  writeReply,
} from "../../protocol/dns/index.ts";

/** The bytes of a response; undefined if none is to be sent. Never rejects. */
export type Respond = (message: Buffer, transport: "udp" | "tcp") => Promise<Buffer | undefined>;

const IN = 1;
const QUERY = 0;
const OPT = 41;
/** TKEY, TSIG, the transfers (RFC 5936, 1995), and two obsolete types (RFC 1035 3.2.3). */
const META_TYPES = new Set([249, 250, 251, 252, 253, 254]);
/** If the database fails, every query fails, so only one line is logged per ten seconds. */
const LOG_INTERVAL_MS = 10_000;

export function createRespond({
  answer,
  clock,
  log,
}: {
  answer: (name: string, type: number) => Promise<DnsReply>;
  clock: Clock;
  log: Log;
}): Respond {
  let lastLoggedAt = -Infinity;

  return async (message, transport) => {
    const header = readDnsHeader(message);
    // Answering a response could cause a loop.
    if (header === undefined || header.response) return undefined;
    if (header.opcode !== QUERY) return writeHeaderOnlyReply(header, RCODE.notImp);
    const query = read(message, header);
    if (query === undefined) return writeHeaderOnlyReply(header, RCODE.formErr);
    try {
      return writeReply(query, await replyTo(query), transport === "udp" ? udpLimit(query) : MAX_MESSAGE_OCTETS);
    } catch (err) {
      logFailure(err, query);
      return writeReply(query, emptyReply(RCODE.servFail), udpLimit(query));
    }
  };

  async function replyTo(query: Query): Promise<DnsReply> {
    // RFC 6891 6.1.3: only version 0 is supported.
    if (query.edns !== undefined && query.edns.version !== 0) return emptyReply(RCODE.badVersion);
    // RFC 8945 5.2.1: the key is unknown to this server.
    if (query.signed) return emptyReply(RCODE.notAuth);
    if (query.type === OPT) return emptyReply(RCODE.formErr);
    // Also refuses version.bind and other names in class CH.
    if (query.class !== IN || META_TYPES.has(query.type)) return emptyReply(RCODE.refused);
    return answer(query.name, query.type);
  }

  function logFailure(err: unknown, { name, type }: Query) {
    if (clock.now() - lastLoggedAt < LOG_INTERVAL_MS) return;
    lastLoggedAt = clock.now();
    log.error({ err, name, type }, "dns: failed to answer a query");
  }
}

function read(message: Buffer, header: Header): Query | undefined {
  try {
    return readQuery(message, header);
  } catch (err) {
    if (err instanceof MalformedMessage) return undefined;
    throw err;
  }
}
