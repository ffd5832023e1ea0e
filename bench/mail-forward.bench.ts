import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bench, BenchContext } from "./harness/bench.ts";
import { startLimit } from "./mail-forward/limit.ts";
import { signedMessage } from "./mail-forward/message.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";
import { routeAll, startReelpostMailServer, type ReelpostMailServer } from "./smtp-accept/ours.ts";
import { startSink } from "./smtp-accept/sink.ts";
import { sendAll } from "./smtp-accept/source.ts";

const DOMAIN = "bench.example";
const SENDER = "sender.example";
const FROM = `ada@${SENDER}`;
const SELECTOR = "s1";
const MESSAGES = 500;
const SESSIONS = 10;

/**
 * CPU time of `reelpost serve` for the complete path of a 10 KB message: received over SMTP, authenticated with SPF,
 * DKIM, DMARC and ARC, routed by a rule, rewritten by SRS, sealed, signed twice, relayed to the next hop while the
 * sender waits, and logged. Compared with a process that only authenticates, seals and signs the same message.
 *
 * Parts of the CPU time, each measured alone, the minimum of 30 batches: SPF, DKIM, DMARC and ARC 0.62 ms (0.75 ms
 * while each DNS query created an exception and each message resolved an import three times), seal and two signatures
 * 1.24 ms, of which four RSA signatures in OpenSSL take 1.12 ms, header parsing 0.01 ms. Within the checks, no function
 * of our own code exceeds 2 %; the largest ones in mailauth are parsing the public key (14 %) and the pass over the
 * message (13 %).
 *
 * `perf` attributes the CPU time of the process, on a busy machine, to the thread pool (26 %, of which 21 % are the four
 * RSA signatures), V8's threads for compilation and garbage collection (10 %), and the main thread (64 %): mailauth with
 * the parsing of public keys 12 %, SQLite 7 %, the SMTP server 7 %, our own DNS answers 4 %, signing 3 %, the relay 3 %,
 * the log 3 %. Gain: the query that looks for a zone of each name is prepared, 6 instead of 13 µs per lookup; with
 * literal limits, SQLite no longer compiles the statements of claims again, 9.4 instead of 11.0 ms, 1.65 instead of 1.75
 * times the limit. No gain: no timer for DNS answers from memory (7 µs per message).
 */
const bench: Bench = {
  name: "mail-forward",
  async setup(kit) {
    const sink = await startSink(kit);
    const ours = await startReelpostMailServer(kit, { sinkPort: sink.port });
    const { zone } = await routeAll(ours, DOMAIN, "ada@sink.example");
    const { file, ...message } = await senderWithMessage(kit, ours);
    const limit = await startLimit(kit, { ...message, from: FROM });
    const send = (messages: number) =>
      sendAll({
        port: ours.smtpPort,
        from: FROM,
        to: `info@${DOMAIN}`,
        messages,
        sessions: SESSIONS,
        content: { file },
      });
    await send(1);
    await expectCompletePath(ours, zone);
    return {
      peers: {},
      arms: [
        {
          name: "reelpost",
          unit: "ms/message",
          async sample() {
            const [cpu, before] = [cpuSecondsOfTree(ours.pid), sink.count];
            await send(MESSAGES);
            await sink.taken(before, MESSAGES);
            return ((cpuSecondsOfTree(ours.pid) - cpu) / MESSAGES) * 1000;
          },
        },
        {
          name: "authenticate, seal and sign",
          unit: "ms/message",
          sample: () => limit({ messages: MESSAGES, sessions: SESSIONS }),
        },
      ],
      figures: (of) => ({
        ratio_vs_limit: of("reelpost") / of("authenticate, seal and sign"),
        cpu_ms_per_message: of("reelpost"),
        limit_cpu_ms_per_message: of("authenticate, seal and sign"),
      }),
    };
  },
};
export default bench;

/** Checks that messages complete the whole path: a message that failed on the way would use little CPU time. */
async function expectCompletePath({ call }: ReelpostMailServer, zone: string): Promise<void> {
  const [entry] = await call("GET", `/zones/${zone}/email/activity`);
  const found = `${entry?.status} spf=${entry?.spf} dkim=${entry?.dkim} dmarc=${entry?.dmarc}`;
  if (found !== "delivered spf=pass dkim=pass dmarc=pass")
    throw new Error(`the message did not take the expected path: ${found}`);
}

/**
 * The sender's domain is a zone on this server, so that no public DNS is queried: the message passes SPF and DKIM, and
 * DMARC requires both.
 */
async function senderWithMessage(
  kit: BenchContext,
  { call, account }: ReelpostMailServer,
): Promise<{ file: string; octets: string; records: Record<string, string> }> {
  const { octets, record } = await signedMessage({
    domain: SENDER,
    selector: SELECTOR,
    to: `info@${DOMAIN}`,
    size: 10_000,
  });
  const { id: zone } = await call("POST", "/zones", { name: SENDER, account: { id: account } });
  const records = {
    [SENDER]: "v=spf1 ip4:127.0.0.1 -all",
    [`${SELECTOR}._domainkey.${SENDER}`]: record,
    [`_dmarc.${SENDER}`]: "v=DMARC1; p=reject",
  };
  for (const [name, text] of Object.entries(records)) {
    const content = (text.match(/.{1,250}/g) ?? []).map((piece) => `"${piece}"`).join(" ");
    await call("POST", `/zones/${zone}/dns_records`, { type: "TXT", name, content, ttl: 300 });
  }
  const file = join(kit.dir, "message.eml");
  // smtp-source adds the line endings itself.
  await writeFile(file, octets.toString("latin1").replaceAll("\r\n", "\n"), "latin1");
  return { file, octets: octets.toString("base64"), records };
}
