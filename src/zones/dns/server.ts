import type { Socket } from "node:dgram";
import type { AddressInfo } from "node:net";
import { type Clock, type Log, systemClock } from "../../kernel/index.ts";
import { RCODE_NAMES } from "../../protocol/dns/index.ts";
import { answerQuestion } from "./answer.ts";
import { createCachedZones } from "./cached-zones.ts";
import type { LookUpAddresses } from "./address-cache.ts";
import { createFlatten } from "./flatten.ts";
import { createRateLimit, type ResponseRateLimit, type RateLimitDecision } from "./rate-limit.ts";
import { createRespond, type Respond } from "./respond.ts";
import type { ServedZones } from "./served.ts";
import { listenTcp, type TcpBounds, type TcpListener } from "./tcp.ts";
import { listenUdp } from "./udp.ts";

export interface DnsServerOptions {
  zones: ServedZones;
  log: Log;
  clock?: Clock;
  /**
   * Addresses to listen on, each over UDP and TCP. List them individually on a machine with several addresses: a
   * response must be sent from the queried address.
   */
  hosts: readonly string[];
  /** 0 selects a free port, the same for all addresses. */
  port: number;
  /** Default 200 per second. Null for no limit. */
  rateLimit?: ResponseRateLimit | null;
  tcp?: TcpBounds;
  /** Looks up external targets of CNAMEs at the apex. */
  lookUp?: LookUpAddresses;
  /** Called for every response. */
  onAnswer?(answer: { over: "udp" | "tcp"; rcode: string }): void;
}

interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

const DEFAULT_RATE: ResponseRateLimit = { perSecond: 200 };
/** Another process may be using the UDP port although the TCP port was free. */
const ATTEMPTS = 10;

/**
 * Starts an authoritative name server: answers for its zones, refuses everything else, and does not recurse. RFC 1034,
 * 1035, 2181, 2308, 4592, 6891, 7766, 8482, 9619. No DNSSEC, no zone transfers. Rejects if a port is in use.
 */
export async function startDnsServer({
  zones,
  log,
  clock = systemClock,
  hosts,
  port,
  rateLimit = DEFAULT_RATE,
  tcp,
  lookUp,
  onAnswer,
}: DnsServerOptions): Promise<DnsServer> {
  const cachedZones = createCachedZones(zones, clock);
  const answerDeps = { zones: cachedZones, flatten: createFlatten({ zones: cachedZones, clock, lookUp }) };
  const answer = createRespond({ clock, log, answer: (name, type) => answerQuestion(answerDeps, name, type) });
  const respond: Respond =
    onAnswer === undefined
      ? answer
      : async (message, transport) => {
          const reply = await answer(message, transport);
          if (reply !== undefined) onAnswer({ over: transport, rcode: RCODE_NAMES[reply[3]! & 15] ?? "other" });
          return reply;
        };
  const limit: (address: string) => RateLimitDecision =
    rateLimit === null ? () => "answer" : createRateLimit(rateLimit, clock);

  for (let attempt = 1; ; attempt++) {
    const openListeners: { close(): Promise<void> }[] = [];
    let chosenPort = port;
    try {
      for (const host of hosts) {
        const listener: TcpListener = await listenTcp({ respond, log, bounds: tcp }, host, chosenPort);
        openListeners.push(listener);
        chosenPort = (listener.server.address() as AddressInfo).port;
        openListeners.push(toClosable(await listenUdp({ respond, log, limit }, host, chosenPort)));
      }
      let closePromise: Promise<void> | undefined;
      return { port: chosenPort, close: () => (closePromise ??= closeAll(openListeners)) };
    } catch (err) {
      await closeAll(openListeners);
      if (port !== 0 || attempt >= ATTEMPTS || (err as NodeJS.ErrnoException).code !== "EADDRINUSE") throw err;
    }
  }
}

const toClosable = (socket: Socket) => ({ close: () => new Promise<void>((resolve) => socket.close(() => resolve())) });

const closeAll = async (openListeners: { close(): Promise<void> }[]): Promise<void> =>
  void (await Promise.all(openListeners.map((one) => one.close())));
