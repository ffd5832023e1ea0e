import { oneLine } from "../../kernel/text.ts";
import type { ApiRequest } from "../api/client.ts";
import { connectToApi, type ApiConnection } from "../api/connect.ts";
import { cursorPagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand, type CommandContext } from "../command.ts";
import { dmarcLines, type DmarcStatistics } from "../email/dmarc.ts";
import { followLog } from "../email/log-follow.ts";
import { logOptions, logQuery, readLog, readDetails } from "../email/log-query.ts";
import { LOG_TITLES, logRow, logTable, type LogEntry, detailLines } from "../email/log.ts";
import { QUEUE_STATES, queueTable, type QueuedItem, messageLines, type WholeMessage } from "../email/queue.ts";
import { tlsLines, type TlsStatistics } from "../email/tls.ts";
import { connectZone, nameIn, zoneOptions } from "../email/zone.ts";
import { onInterrupt } from "../interrupt.ts";
import { formatTime, printResult, painter, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const emailDmarcReport = defineCommand({
  name: "email dmarc report",
  summary: "show who sends mail for a domain, and whether it passes DMARC",
  description:
    "Summarizes the aggregate reports that receivers sent about the domain. For a subdomain, only reports about that name are shown.",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: {
    since: {
      type: "string",
      placeholder: "day",
      summary: "first day (UTC)",
      defaultText: "29 days before the last day",
    },
    until: { type: "string", placeholder: "day", summary: "last day (UTC)", defaultText: "today" },
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "maximum number of domains, sources and reporters",
      defaultText: "20",
    },
    ...zoneOptions,
  },
  examples: [
    ["reelpost email dmarc report example.com", "the last 30 days"],
    ["reelpost email dmarc report example.com --since 2026-11-01 --until 2026-11-07 --json", "one week, as JSON"],
  ],
  async run({ since, until, limit = 20, ...values }, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const found = await zone.api.result<DmarcStatistics>("GET", `${zone.path}/email/auth/dmarc-reports/statistics`, {
      query: { since, until, limit: String(limit), domain: nameIn(zone).name },
    });
    printResult(context, found, (paint) => dmarcLines(found, paint));
    return 0;
  },
});

/** Entries per poll while following the log. */
const FOLLOW_LIMIT = 200;
const COLUMNS = [19, 24, 24, 28, 14, 12, 0];

const emailLog = defineCommand({
  name: "email log",
  summary: "list the message log, newest first",
  description: `A message has one entry per recipient. \`reelpost email log get <message>\` shows its events.

With --follow the newest entries come last, and new ones are printed until Ctrl-C; a message is printed again when its status changes. With --follow --json each entry is one JSON object per line.`,
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
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 10_000,
      summary: "maximum number of entries",
      defaultText: "50",
    },
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

const emailQueuePauses = defineCommand({
  name: "email queue pauses",
  summary: "list paused destinations with queued mail",
  options: serverOptions,
  examples: [["reelpost email queue pauses", "reason and end of each pause"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const pauses = await api.result<{ destination: string; until: string; reason: string }[]>(
      "GET",
      `${base}/email/queue/pauses`,
    );
    printResult(context, pauses, (paint) =>
      pauses.length === 0
        ? ["No destination is paused."]
        : table(
            ["destination", "until (UTC)", "reason"],
            pauses.map(({ destination, until, reason }) => [destination, formatTime(until), reason]),
            paint,
          ),
    );
    return 0;
  },
});

const emailQueueResume = defineCommand({
  name: "email queue resume",
  summary: "resume a paused destination and retry its mail immediately",
  arguments: [{ name: "destination", summary: "domain as listed by `email queue pauses`", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue resume example.net", "after its server accepts mail again"]],
  async run(values, [destination], context) {
    const { api, base } = await connectToApi(values, context);
    const resumed = await api.result("POST", `${base}/email/queue/pauses/resume`, { json: { destination } });
    printResult(context, resumed, () => [`Resumed ${oneLine(destination!)}`]);
    return 0;
  },
});

const emailQueueList = defineCommand({
  name: "email queue list",
  summary: "list queued mail, newest first",
  description: "A message has one entry per recipient, while it is queued and for some days after it failed.",
  options: {
    state: {
      type: "string",
      placeholder: "state",
      choices: QUEUE_STATES,
      summary: "only recipients in this state",
      defaultText: "all but delivered",
    },
    domain: { type: "string", placeholder: "domain", summary: "only recipients at this domain" },
    platform: {
      type: "boolean",
      summary: "only system mail, such as verification messages and delivery reports (operators only)",
    },
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 10_000,
      summary: "maximum number of entries",
      defaultText: "100",
    },
    ...serverOptions,
  },
  examples: [
    ["reelpost email queue list", "status, reason and expiration of each recipient"],
    ["reelpost email queue list --state failed --domain example.net", "failed deliveries to a domain"],
  ],
  async run({ state, domain, platform, limit = 100, ...values }, _, context) {
    const connection = await connectToApi(values, context);
    const states = state === undefined ? QUEUE_STATES.filter((one) => one !== "delivered") : [state];
    const lists = await Promise.all(states.map((one) => newest(connection, { state: one, domain, platform }, limit)));
    // A recipient whose state changes between the requests is in two lists, or in none.
    const items = [...new Map(lists.flat().map((item) => [`${item.id} ${item.to}`, item])).values()]
      .sort((a, b) => b.created.localeCompare(a.created))
      .slice(0, limit);
    printResult(context, items, (paint) => (items.length === 0 ? ["No messages."] : queueTable(items, paint)));
    return 0;
  },
});

async function newest(
  { api, base }: ApiConnection,
  query: NonNullable<ApiRequest["query"]>,
  limit: number,
): Promise<QueuedItem[]> {
  const items: QueuedItem[] = [];
  for await (const item of cursorPagesOf<QueuedItem>(api, `${base}/email/queue`, {
    query: { ...query, per_page: Math.min(limit, 1000) },
  })) {
    if (items.push(item) === limit) break;
  }
  return items;
}

const emailQueueGet = defineCommand({
  name: "email queue get",
  summary: "show a queued message and the replies of each next hop",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue get 91ab…", "an id from the list"]],
  async run(values, [id], context) {
    const { api, base } = await connectToApi(values, context);
    const message = await api.result<WholeMessage>("GET", `${base}/email/queue${at`/${id!}`}`);
    printResult(context, message, (paint) => messageLines(message, paint));
    return 0;
  },
});

const emailQueueResend = defineCommand({
  name: "email queue resend",
  summary: "retry immediately, including failed recipients, and resume the paused destination",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: serverOptions,
  examples: [["reelpost email queue resend 91ab…", "after a problem of the receiving server is fixed"]],
  async run(values, [id], context) {
    const { api, base } = await connectToApi(values, context);
    const message = await api.result<WholeMessage>("POST", `${base}/email/queue${at`/${id!}`}/resend`);
    printResult(context, message, (paint) => messageLines(message, paint));
    return 0;
  },
});

const emailQueueCancel = defineCommand({
  name: "email queue cancel",
  summary: "cancel a queued message for all pending recipients",
  description: "Deliveries in progress continue. The sender receives a bounce as for any undeliverable message.",
  arguments: [{ name: "id", summary: "id of the message", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost email queue cancel 91ab…", "`reelpost email queue resend` resumes it"]],
  async run({ yes, ...values }, [id], context) {
    const { api, base } = await connectToApi(values, context);
    await confirm(`Cancel the delivery of message ${id!}?`, yes, context);
    const message = await api.result<WholeMessage>("POST", `${base}/email/queue${at`/${id!}`}/cancel`);
    printResult(context, message, (paint) => messageLines(message, paint));
    return 0;
  },
});

const emailTlsReport = defineCommand({
  name: "email tls report",
  summary: "show TLS reports: whether sending servers use TLS as the domain's policies require",
  description:
    "Summarizes the TLS reports (RFC 8460) that senders sent about the domain. For a subdomain, only reports about that name are shown.",
  arguments: [{ name: "domain", summary: "domain such as example.com", required: true }],
  options: {
    since: {
      type: "string",
      placeholder: "day",
      summary: "first day (UTC)",
      defaultText: "29 days before the last day",
    },
    until: { type: "string", placeholder: "day", summary: "last day (UTC)", defaultText: "today" },
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "maximum number of policies, failures and reporters",
      defaultText: "20",
    },
    ...zoneOptions,
  },
  examples: [["reelpost email tls report example.com", "the last 30 days"]],
  async run({ since, until, limit = 20, ...values }, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    const found = await zone.api.result<TlsStatistics>("GET", `${zone.path}/email/auth/tls-reports/statistics`, {
      query: { since, until, limit: String(limit), domain: nameIn(zone).name },
    });
    printResult(context, found, (paint) => tlsLines(found, paint));
    return 0;
  },
});

export const emailMessagesCommands: readonly Command[] = [
  emailDmarcReport,
  emailLog,
  emailLogGet,
  emailLogRaw,
  emailLogReplay,
  emailQueueList,
  emailQueueGet,
  emailQueueResend,
  emailQueueCancel,
  emailQueuePauses,
  emailQueueResume,
  emailTlsReport,
];
