import { lookup } from "node:dns/promises";
import { UserError, type Clock, type Log } from "../../kernel/index.ts";
import { mailErrors } from "../errors.ts";
import type { SmtpReply } from "../messages/index.ts";
import { resolveRecipients, senderOf } from "./addresses.ts";
import { bodyPropertiesOf } from "./queue/facts.ts";
import { readSmartHost } from "./smart-hosts.ts";
import { createDeliveryAgent } from "./smtp/delivery-agent.ts";
import { DEFAULT_TIMEOUTS } from "./smtp/timeouts.ts";
import type { MailResolver, SmartHost } from "./types.ts";

/** The result for one recipient of a released message. */
export interface ReleaseResult {
  rcpt: string;
  outcome: "delivered" | "temporary" | "permanent";
  reply: SmtpReply;
}

/**
 * Sends a message to `server` (`smtp://user:password@host:587`) while the caller waits. Throws releaseServerInvalid.
 */
type Release = (mail: { server: string; from: string; to: string[]; raw: Uint8Array }) => Promise<ReleaseResult[]>;

interface ReleaseDeps {
  clock: Pick<Clock, "now">;
  log: Log;
  /** Recipients that are not done by then get a temporary failure. */
  timeoutMs: number;
}

/**
 * Also resolves the names of the local network and of containers. Returns no MX records, because mail goes only to one
 * host.
 */
const systemResolver: MailResolver = {
  resolveMx: async () => [],
  resolve4: (host) => addressesOf(host, 4),
  resolve6: (host) => addressesOf(host, 6),
};

const addressesOf = async (host: string, family: 4 | 6) =>
  (await lookup(host, { all: true, family })).map(({ address }) => address);

export function createSmtpRelease({ clock, log, timeoutMs }: ReleaseDeps): Release {
  return async ({ server, from, to, raw }) => {
    const { good, bad } = resolveRecipients({ to });
    const sender = senderOf(from);
    const facts = await bodyPropertiesOf(raw);
    // A new agent for each release, so that an earlier failure does not pause the host.
    const agent = createDeliveryAgent({
      clock,
      log,
      name: "localhost",
      resolver: systemResolver,
      smartHosts: [hostOf(server)],
      timeouts: { ...DEFAULT_TIMEOUTS, connectMs: 10_000 },
    });
    try {
      const { results } = await agent.deliver(
        "",
        { from: sender, to: good, body: { ...facts, open: () => raw } },
        AbortSignal.timeout(timeoutMs),
      );
      return [...bad, ...results].map(({ rcpt, outcome, reply }) => ({ rcpt, outcome, reply }));
    } finally {
      agent.close();
    }
  };
}

function hostOf(server: string): SmartHost {
  try {
    return readSmartHost(server);
  } catch (err) {
    if (!(err instanceof UserError)) throw err;
    throw mailErrors.releaseServerInvalid({ server: String(err.details.given), reason: String(err.details.why) });
  }
}
