import { painter } from "../../kernel/paint.ts";
import { oneLine } from "../../kernel/text.ts";
import { connectToApi } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { type Command, defineCommand, type CommandContext } from "../command.ts";
import { followLog } from "../email/log-follow.ts";
import { logOptions, logQuery, readLog, readDetails } from "../email/log-query.ts";
import { LOG_TITLES, logRow, logTable, type LogEntry, detailLines } from "../email/log.ts";
import { connectZone } from "../email/zone.ts";
import { onInterrupt } from "../interrupt.ts";
import { printResult } from "../print.ts";
import { limitOption, serverOptions } from "../shared-options.ts";

/** Entries per poll while following the log. */
const FOLLOW_LIMIT = 200;

const COLUMNS = [19, 24, 24, 28, 14, 12, 0];

const emailLog = defineCommand({
  name: "email log",
  summary: "list the message log, newest first",
  description: `A message has one entry per recipient. \`reelpost email log get <message>\` shows its events.

With --follow the newest entries come last, and new ones are printed until Ctrl-C; a message is printed again when its status changes. With --follow --json, each entry is printed as a JSON object on its own line.`,
  options: {
    zone: {
      type: "string",
      placeholder: "domain",
      summary: "only mail of this domain's zone",
      defaultText: "the whole account",
    },
    platform: {
      type: "boolean",
      summary: "only system mail: verification messages and bounces (operators only)",
    },
    ...logOptions,
    ...limitOption(10_000, 50),
    follow: { type: "boolean", summary: "print new entries as they arrive" },
    ...serverOptions,
  },
  examples: [
    ["reelpost email log --zone example.com", "senders, recipients and results"],
    ["reelpost email log --status deliveryFailed --since 7d", "failed deliveries of a week"],
    ["reelpost email log --search invoice --follow", "matching entries as they arrive"],
  ],
  async run({ zone, platform, limit = 50, follow, url, token, account, ...filter }, _, context) {
    const server = { url, token, account };
    const { api, path } =
      zone === undefined
        ? await readAccountLog()
        : await connectZone(zone, { ...server, "zone-id": undefined }, context);
    const query = { ...logQuery(filter, context.clock.now()), ...(platform === true && { platform: "true" }) };
    if (follow === true)
      return followed(() => readLog(api, path, query, FOLLOW_LIMIT), Math.min(limit, FOLLOW_LIMIT), context);
    const entries = await readLog(api, path, query, limit);
    printResult(context, entries, (paint) => (entries.length === 0 ? ["No messages."] : logTable(entries, paint)));
    return 0;

    async function readAccountLog() {
      const { api: accountApi, base } = await connectToApi(server, context);
      return { api: accountApi, path: base };
    }
  },
});

async function followed(
  read: () => Promise<LogEntry[]>,
  first: number,
  { json, stdout, stderr }: CommandContext,
): Promise<number> {
  const formatLine = (cells: readonly string[]) =>
    cells
      .map((cell, column) => oneLine(cell).padEnd(COLUMNS[column]!))
      .join("  ")
      .trimEnd();
  const interrupt = onInterrupt();
  if (!json) stdout.line(painter(stdout)("dim", formatLine(LOG_TITLES)));
  try {
    await followLog({
      read,
      first,
      print: (entries) =>
        entries.forEach((entry) => stdout.line(json ? JSON.stringify(entry) : formatLine(logRow(entry)))),
      onGap: () => stderr.line(`more than ${FOLLOW_LIMIT} new entries: the oldest are not shown`),
      signal: interrupt.signal,
    });
    return 0;
  } finally {
    interrupt.release();
  }
}

const emailLogGet = defineCommand({
  name: "email log get",
  summary: "show the events of a message",
  arguments: [{ name: "message", summary: "message id as listed in the log, or the id of an entry", required: true }],
  options: serverOptions,
  examples: [["reelpost email log get 1f0c3a5b7d92", "all recipients of the message"]],
  async run(values, [message], context) {
    const { api, base } = await connectToApi(values, context);
    const messages = await readDetails(api, base, message!);
    printResult(context, messages, (paint) =>
      messages.flatMap((details, i) => [...(i === 0 ? [] : ["", ""]), ...detailLines(details, paint)]),
    );
    return 0;
  },
});

const emailLogRaw = defineCommand({
  name: "email log raw",
  summary: "print the raw content of a message in the log",
  description: "Received messages are kept if the server sets email.store_days, sent ones if previews are enabled.",
  arguments: [{ name: "entry", summary: "id of the entry, as `email log --json` prints it", required: true }],
  options: serverOptions,
  examples: [["reelpost email log raw 1f0c… > message.eml", "opens in any mail program"]],
  async run(values, [entry], context) {
    const { api, base } = await connectToApi(values, context);
    const raw = await (await api.raw("GET", `${base}/email/activity${at`/${entry!}`}/raw`)).text();
    printResult(context, { raw }, () => [raw.trimEnd()]);
    return 0;
  },
});

interface Replayed {
  outcome: string;
  exception: string | null;
  rejected: string | null;
  forwards: { to: string }[];
  replies: unknown[];
}

const emailLogReplay = defineCommand({
  name: "email log replay",
  summary: "pass a received message to a worker again",
  description: "The worker's forwards and replies are sent. The server must keep received messages (email.store_days).",
  arguments: [{ name: "entry", summary: "id of the entry, as `email log --json` prints it", required: true }],
  options: {
    worker: { type: "string", placeholder: "name", summary: "another worker than the one that handled it" },
    to: { type: "string", placeholder: "address", summary: "another recipient" },
    ...serverOptions,
  },
  examples: [["reelpost email log replay 1f0c… --worker inbox-dev", "tests a worker with a real message"]],
  async run({ worker, to, ...values }, [entry], context) {
    const { api, base } = await connectToApi(values, context);
    const replayed = await api.result<Replayed>("POST", `${base}/email/activity${at`/${entry!}`}/replay`, {
      json: { worker, to },
    });
    printResult(context, replayed, () => [
      `The worker ended with ${replayed.outcome}${replayed.exception === null ? "" : `: ${oneLine(replayed.exception)}`}`,
      ...(replayed.rejected === null ? [] : [`It rejected the message: ${oneLine(replayed.rejected)}`]),
      ...replayed.forwards.map(({ to: destination }) => `It forwarded the message to ${oneLine(destination)}`),
      ...(replayed.replies.length === 0 ? [] : [`It sent ${replayed.replies.length} replies`]),
    ]);
    return replayed.outcome === "ok" ? 0 : 1;
  },
});

export const emailLogCommands: readonly Command[] = [emailLog, emailLogGet, emailLogRaw, emailLogReplay];
