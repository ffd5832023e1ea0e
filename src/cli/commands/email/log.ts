import { connect } from "../../api/connect.ts";
import { defineCommand, type Surroundings } from "../../command.ts";
import { LOG_TITLES, logRow, logTable, type LogEntry } from "../../email/log.ts";
import { followLog } from "../../email/log-follow.ts";
import { logOptions, logQuery, readLog } from "../../email/log-query.ts";
import { connectZone } from "../../email/zone.ts";
import { onInterrupt } from "../../interrupt.ts";
import { painter, printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";
import { oneLine } from "../../../kernel/text.ts";

/** Entries per poll while following the log. */
const FOLLOWED = 200;
const COLUMNS = [19, 24, 24, 28, 14, 12, 0];

export const emailLog = defineCommand({
  name: "email log",
  summary: "list the message log, newest first",
  description: `A message has one entry per recipient. \`reelpost email log get <message>\` shows its events.

With --follow the newest entries come last, and new ones are printed until Ctrl-C; a message is printed again when its status changes. With --follow --json each entry is one JSON object per line.`,
  options: {
    zone: {
      type: "string",
      placeholder: "domain",
      summary: "only mail of this domain's zone",
      defaultText: "in the whole account",
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
  async run({ zone, platform, limit = 50, follow, url, token, account, ...filter }, _, surroundings) {
    const server = { url, token, account };
    const { api, path } =
      zone === undefined
        ? await ofAccount()
        : await connectZone(zone, { ...server, "zone-id": undefined }, surroundings);
    const query = { ...logQuery(filter, surroundings.clock.now()), ...(platform === true && { platform: "true" }) };
    if (follow === true)
      return followed(() => readLog(api, path, query, FOLLOWED), Math.min(limit, FOLLOWED), surroundings);
    const entries = await readLog(api, path, query, limit);
    printResult(surroundings, entries, (paint) => (entries.length === 0 ? ["No messages."] : logTable(entries, paint)));
    return 0;

    async function ofAccount() {
      const { api: ofIt, base } = await connect(server, surroundings);
      return { api: ofIt, path: base };
    }
  },
});

async function followed(
  read: () => Promise<LogEntry[]>,
  first: number,
  { json, stdout, stderr }: Surroundings,
): Promise<number> {
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => oneLine(cell).padEnd(COLUMNS[column]!))
      .join("  ")
      .trimEnd();
  const interrupt = onInterrupt();
  if (!json) stdout.line(painter(stdout)("dim", line(LOG_TITLES)));
  try {
    await followLog({
      read,
      first,
      print: (entries) => entries.forEach((entry) => stdout.line(json ? JSON.stringify(entry) : line(logRow(entry)))),
      onGap: () => stderr.line(`more than ${FOLLOWED} new entries: the oldest are not shown`),
      signal: interrupt.signal,
    });
    return 0;
  } finally {
    interrupt.release();
  }
}
