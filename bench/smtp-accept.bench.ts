import type { Arm, Bench } from "./harness/bench.ts";
import { startBareServer } from "./smtp-accept/bare.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";
import { routeAll, startReelpostMailServer } from "./smtp-accept/ours.ts";
import { startPostfix } from "./smtp-accept/postfix.ts";
import { startSink, type Sink } from "./smtp-accept/sink.ts";
import { sendAll } from "./smtp-accept/source.ts";

const DOMAIN = "bench.example";
const MESSAGES = 1000;
const SESSIONS = 20;
const SIZE = 10_000;

/**
 * Accepted 10 KB messages per second, from `smtp-source -s 20 -m 1000 -l 10000`: by `reelpost serve`, where a
 * catch-all rule forwards them, by Postfix with Debian's defaults, and by a server in Node that only reads, signs
 * twice and relays (the limit). Each relays everything to its own sink, and a sample counts only when all of it has
 * arrived there. Reelpost signs forwarded messages and writes the email log; neither it nor Postfix authenticates
 * senders.
 *
 * CPU per message: 2.16 ms before and 2.01 ms after the message was sent in one packet and no longer copied to be
 * hashed, and 2.2 and 2.0 ms (medians of twelve samples each, alternating, on a busy machine) before and after the
 * following:
 *
 * - DATA shares a write with MAIL and RCPT: one write, one read and one wait fewer, here and in the next hop.
 * - Plain addresses are parsed without tokenizing: 0.4 instead of 1.3 µs each, about a dozen per message.
 * - The header is canonicalized once for both signatures: 10 µs per message.
 *
 * Before these changes, `perf` attributed the CPU time of the main thread, 1.15 ms, to JavaScript (48 %, no function
 * above 3 %), other work of the kernel (13 %), the two jobs in the thread pool with the code that continues after them
 * (13 %), SQLite (7 %) and accepting connections (6 %); all writes to sockets together took 12 %. The signatures
 * themselves take 0.56 ms in OpenSSL, and garbage collection and compilation 0.2 ms on other threads. In a
 * `--cpu-prof`, `sign()` and the writes seem larger, because the main thread yields its core to the threads that they
 * wake.
 *
 * The bare server takes 0.75 ms and accepts 2.2 times as many messages as Postfix. With both cores busy, only less CPU time
 * raises the rate: a second process (`bench cores`) adds 10 %. No gain: a larger young generation of the heap
 * (`--max-semi-space-size=64`), HMAC from `crypto.hash()`, a plain queue instead of a stream for the mail data (4 µs).
 *
 * CPU time per message by thread, on a machine half as fast: 1.8 ms in the thread pool, all for the two RSA signatures
 * (0.87 ms each, also in `openssl speed`), 1.9 ms in the main thread, 0.3 ms in V8's threads. Garbage collection takes
 * 0.06 ms. Replacing the accessors in the objects of a session by methods changed none of these.
 */
const bench: Bench = {
  name: "smtp-accept",
  async setup(kit) {
    const [oursSink, postfixSink, bareSink] = [await startSink(kit), await startSink(kit), await startSink(kit)];
    const ours = await startReelpostMailServer(kit, {
      sinkPort: oursSink.port,
      env: { REELPOST_AUTHENTICATION_ENABLED: "false" },
    });
    await routeAll(ours, DOMAIN, "somebody@sink.example");
    const postfix = await startPostfix(kit, { domain: DOMAIN, sinkPort: postfixSink.port });
    const bare = await startBareServer(kit, { sinkPort: bareSink.port });
    const sides = {
      reelpost: { port: ours.smtpPort, pid: ours.pid, sink: oursSink },
      postfix: { port: postfix.port, pid: postfix.pid, sink: postfixSink },
      bare: { port: bare.port, pid: bare.pid, sink: bareSink },
    };
    return {
      peers: { postfix: postfix.version },
      arms: Object.entries(sides).flatMap(([who, side]) => [
        rateArm(who, side, false),
        rateArm(who, side, true),
        cpuArm(who, side),
      ]),
      figures: (of) => ({
        ratio_vs_postfix: of("reelpost") / of("postfix"),
        cpu_ms_per_message: of("reelpost CPU"),
        // Additional figures: the same with one connection per session, and the values behind the ratios.
        keep_alive_ratio_vs_postfix: of("reelpost keep-alive") / of("postfix keep-alive"),
        cpu_ratio_vs_postfix: of("postfix CPU") / of("reelpost CPU"),
        postfix_cpu_ms_per_message: of("postfix CPU"),
        accepted_per_second: of("reelpost"),
        postfix_accepted_per_second: of("postfix"),
        // The lower bound: a bare Node server that only reads, signs twice and relays.
        bare_ratio_vs_postfix: of("bare") / of("postfix"),
        bare_cpu_ms_per_message: of("bare CPU"),
      }),
    };
  },
};
export default bench;

interface Side {
  port: number;
  pid: number;
  sink: Sink;
}

/**
 * Sends the messages and waits until all have arrived. Returns the milliseconds until the last message was accepted.
 */
async function run({ port, sink }: Side, keepAlive: boolean): Promise<number> {
  const before = sink.count;
  const ms = await sendAll({
    port,
    from: "somebody@sender.example",
    to: `info@${DOMAIN}`,
    messages: MESSAGES,
    sessions: SESSIONS,
    content: { size: SIZE },
    keepAlive,
  });
  await sink.taken(before, MESSAGES);
  return ms;
}

const rateArm = (who: string, side: Side, keepAlive: boolean): Arm => ({
  name: keepAlive ? `${who} keep-alive` : who,
  unit: "msg/s",
  sample: async () => (MESSAGES / (await run(side, keepAlive))) * 1000,
});

/** CPU time of all processes from the first connection to the last delivery, independent of other load. */
const cpuArm = (who: string, side: Side): Arm => ({
  name: `${who} CPU`,
  unit: "ms/message",
  async sample() {
    const before = cpuSecondsOfTree(side.pid);
    await run(side, false);
    return ((cpuSecondsOfTree(side.pid) - before) / MESSAGES) * 1000;
  },
});
