import { readdir, readlink } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createTransport } from "nodemailer";
import { routeAll, startReelpostMailServer, type ReelpostMailServer } from "../bench/smtp-accept/ours.ts";
import type { Drill, DrillContext } from "./harness/drill.ts";

const DOMAIN = "drill.example";
const MESSAGES = 10_000;
const SESSIONS = 8;
/** Larger than the spool's in-memory limit. */
const SIZE = 300 * 1024;
const CHECKS_EVERY = 2000;

/**
 * How the next hop ends a transaction: at a command, or at the "." after the message. Dropped connections are rare
 * enough that the host is not paused.
 */
const ENDINGS: readonly [command: string, reply: string | "drop"][] = [
  ["MAIL", "451 4.7.1 later"],
  ["RCPT", "450 4.2.1 later"],
  ["DATA", "451 4.3.0 later"],
  [".", "451 4.7.1 later"],
  ["MAIL", "550 5.7.1 no"],
  ["RCPT", "550 5.1.1 no such user"],
  ["DATA", "554 5.7.1 no"],
  [".", "554 5.7.1 spam"],
  ["RCPT", "550 5.1.1 no such user"],
  [".", "drop"],
];

/**
 * Sends 10,000 messages that are spooled to disk through `reelpost serve` to a next hop that rejects, defers or drops
 * every one, and counts the open file descriptors of the server before and after.
 */
const drill: Drill = {
  name: "descriptors",
  async run(kit) {
    const sink = await startHostileSink(kit);
    // In proxy mode the reply of the next hop is passed to the sender, so nothing is queued.
    const ours = await startReelpostMailServer(kit, {
      sinkPort: sink.port,
      env: { REELPOST_OUTBOUND_FORWARD: "proxy" },
    });
    await routeAll(ours, DOMAIN, "somebody@sink.example");
    await addSenderZone(ours);
    const message = Buffer.from(
      `From: a@sender.example\r\nSubject: large\r\n\r\n${"The quick brown fox jumps over the lazy dog.\r\n".repeat(SIZE / 46)}`,
    );
    const client = createTransport({
      host: "127.0.0.1",
      port: ours.smtpPort,
      pool: true,
      maxConnections: SESSIONS,
      maxMessages: Infinity,
      name: "sender.example",
      ignoreTLS: true,
    });
    const outcomes = { accepted: 0, rejected: 0, deferred: 0, connection_errors: 0 };
    let left = MESSAGES;
    const send = () =>
      client.sendMail({ envelope: { from: "a@sender.example", to: `info@${DOMAIN}` }, raw: message }).then(
        () => void outcomes.accepted++,
        ({ responseCode: code }: { responseCode?: number }) =>
          void outcomes[code === undefined ? "connection_errors" : code >= 500 ? "rejected" : "deferred"]++,
      );
    const lane = async () => {
      for (let n = left--; n > 0; n = left--) {
        await send();
        if (n % CHECKS_EVERY === 0) kit.say(`${n} remaining: ${JSON.stringify(await descriptorsOf(ours.pid))}`);
      }
    };
    await send();
    const before = await descriptorsOf(ours.pid);
    await Promise.all(Array.from({ length: SESSIONS }, lane));
    client.close();
    const after = await settled(ours.pid, before.open);
    const summary = {
      drill: "descriptors",
      messages: MESSAGES,
      ...outcomes,
      next_hop: sink.endings,
      descriptors_before: before.open,
      descriptors_after: after.open,
      deleted_files_after: after.deleted,
    };
    return {
      summary,
      ok:
        after.deleted === 0 &&
        after.open <= before.open + SESSIONS &&
        outcomes.rejected + outcomes.deferred === MESSAGES + 1,
    };
  },
};
export default drill;

/** A zone on this server answers the SPF and DMARC lookups without network access. */
async function addSenderZone({ call, account }: ReelpostMailServer): Promise<void> {
  const { id } = await call("POST", "/zones", { name: "sender.example", account: { id: account } });
  for (const [name, text] of Object.entries({
    "sender.example": "v=spf1 ip4:127.0.0.1 -all",
    "_dmarc.sender.example": "v=DMARC1; p=none",
  })) {
    await call("POST", `/zones/${id}/dns_records`, { type: "TXT", name, content: `"${text}"`, ttl: 300 });
  }
}

/** Connections close shortly after the last reply. */
async function settled(pid: number, wanted: number) {
  for (let tries = 0; ; tries++) {
    const found = await descriptorsOf(pid);
    if ((found.open <= wanted && found.deleted === 0) || tries === 100) return found;
    await new Promise((resolve) => void setTimeout(resolve, 100));
  }
}

async function descriptorsOf(pid: number): Promise<{ open: number; deleted: number }> {
  const targets = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => undefined)),
  );
  const open = targets.filter((target) => target !== undefined);
  return { open: open.length, deleted: open.filter((target) => target.endsWith(".eml (deleted)")).length };
}

/** Starts a next hop that accepts no message. Transactions cycle through the ways to end. */
async function startHostileSink(kit: DrillContext): Promise<{ port: number; endings: Record<string, number> }> {
  const endings: Record<string, number> = {};
  let transactions = 0;
  const server = createServer((socket) => {
    let ending = ENDINGS[0]!;
    let buffer = "";
    let inData = false;
    /** RFC 2920 3.1: DATA may follow in the same group, and must fail without a recipient. */
    let refused = false;
    socket.on("error", () => {}).write("220 sink ESMTP\r\n");
    socket.on("data", (chunk) => {
      buffer += chunk.toString("latin1");
      for (;;) {
        const end = buffer.indexOf(inData ? "\r\n.\r\n" : "\r\n");
        if (end === -1) {
          // Only the end of the message matters.
          if (inData) buffer = buffer.slice(-4);
          return;
        }
        const command = inData ? "." : buffer.slice(0, 4).toUpperCase();
        buffer = buffer.slice(end + (inData ? 5 : 2));
        inData = false;
        if (command === "MAIL") {
          ending = ENDINGS[transactions++ % ENDINGS.length]!;
          refused = false;
        }
        if (refused && (command === "RCPT" || command === "DATA")) {
          socket.write("503 5.5.1 no\r\n");
          continue;
        }
        inData = reply(socket, command, ending);
        refused ||= command === ending[0] && command !== ".";
      }
    });
  });
  function reply(socket: Socket, command: string, [at, action]: (typeof ENDINGS)[number]): boolean {
    if (command === at) {
      endings[`${command} ${action.slice(0, 4).trim()}`] =
        (endings[`${command} ${action.slice(0, 4).trim()}`] ?? 0) + 1;
      if (action === "drop") socket.destroy();
      else socket.write(`${action}\r\n`);
      return false;
    }
    socket.write(
      command === "EHLO"
        ? "250-sink\r\n250-PIPELINING\r\n250 8BITMIME\r\n"
        : command === "DATA"
          ? "354 go\r\n"
          : command === "QUIT"
            ? "221 bye\r\n"
            : "250 ok\r\n",
    );
    return command === "DATA";
  }
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  kit.onStop(() => void server.close());
  return { port: (server.address() as AddressInfo).port, endings };
}
