import type { Arm, Bench } from "./harness/bench.ts";
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
 * Accepted 10 KB messages per second, from `smtp-source -s 20 -m 1000 -l 10000`: by `reelpost serve`, where a catch-all
 * rule forwards them, and by Postfix with Debian's defaults. Both relay everything to their own sink, and a sample
 * counts only when all of it has arrived there. Reelpost signs forwarded messages and writes the email log; neither
 * authenticates senders.
 *
 * Top five of the profile (`--cpu-prof`, main thread, self time), before and after the message was sent in one packet and
 * no longer copied to be hashed: replies written to sockets 14 % and 14 %, signatures handed to the thread pool 16 % and
 * 10 %, SQL statements 7 % and 6 %, garbage collection 5 % and 5 %, messages written to the next hop 4 % and 4 %. CPU per
 * message: 2.16 to 2.01 ms. Two RSA signatures in OpenSSL take 0.56 ms of it. A larger young generation of the heap
 * (`--max-semi-space-size=64`) and HMAC from `crypto.hash()` gained nothing.
 */
const bench: Bench = {
  name: "smtp-accept",
  async setup(kit) {
    const [oursSink, postfixSink] = [await startSink(kit), await startSink(kit)];
    const ours = await startReelpostMailServer(kit, {
      sinkPort: oursSink.port,
      env: { REELPOST_AUTHENTICATION_ENABLED: "false" },
    });
    await routeAll(ours, DOMAIN, "somebody@sink.example");
    const postfix = await startPostfix(kit, { domain: DOMAIN, sinkPort: postfixSink.port });
    const sides = {
      reelpost: { port: ours.smtpPort, pid: ours.pid, sink: oursSink },
      postfix: { port: postfix.port, pid: postfix.pid, sink: postfixSink },
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
