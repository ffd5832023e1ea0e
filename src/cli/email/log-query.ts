import { cursorPagesOf } from "../api/lists.ts";
import type { ApiClient, ApiRequestOptions } from "../api/client.ts";
import { at } from "../api/paths.ts";
import type { Options } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { periodOptions } from "../shared-options.ts";
import { parseTimeOption } from "../time-option.ts";
import type { LogEntry, LogDetails } from "./log.ts";

export const logOptions = {
  status: {
    type: "string",
    placeholder: "status",
    choices: [
      "received",
      "sent",
      "handled",
      "dropped",
      "queued",
      "deferred",
      "delivered",
      "deliveryFailed",
      "rejected",
      "error",
      "unknown",
    ],
    summary: "only messages with this status",
  },
  kind: {
    type: "string",
    placeholder: "kind",
    choices: ["routing", "sending"],
    summary: "only inbound or only sent mail",
  },
  from: { type: "string", placeholder: "address", summary: "only this envelope sender" },
  to: { type: "string", placeholder: "address", summary: "only this recipient" },
  search: { type: "string", placeholder: "text", summary: "part of an address, the subject or the Message-ID" },
  ...periodOptions("entries"),
} as const satisfies Options;

interface LogValues {
  status: string | undefined;
  kind: string | undefined;
  from: string | undefined;
  to: string | undefined;
  search: string | undefined;
  since: string | undefined;
  until: string | undefined;
}

export const logQuery = (
  { status, kind, from, to, search, since, until }: LogValues,
  now: number,
): NonNullable<ApiRequestOptions["query"]> => ({
  status,
  kind,
  from,
  to,
  search,
  ...(since !== undefined && { since: parseTimeOption("--since", since, now) }),
  ...(until !== undefined && { until: parseTimeOption("--until", until, now) }),
});

/** Resolves with the newest entries, at most `limit`. `path`: the path of an account or a zone. */
export async function readLog(
  api: ApiClient,
  path: string,
  query: NonNullable<ApiRequestOptions["query"]>,
  limit: number,
): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for await (const entry of cursorPagesOf<LogEntry>(api, `${path}/email/activity`, {
    query: { ...query, per_page: Math.min(limit, 1000) },
  })) {
    if (entries.push(entry) === limit) break;
  }
  return entries;
}

/** Maximum entries to search for a short id. */
const MAX_SEARCHED_ENTRIES = 10_000;

/**
 * Reads the log of one recipient by its id, or of all recipients of a message by the short id shown in lists. `path`:
 * the path of the account.
 */
export async function readDetails(api: ApiClient, path: string, id: string): Promise<LogDetails[]> {
  const read = (entryId: string) => api.result<LogDetails>("GET", `${path}/email/activity${at`/${entryId}`}`);
  if (!/^[0-9a-f]{6,31}$/.test(id)) return [await read(id)];
  const matchingEntries = (await readLog(api, path, {}, MAX_SEARCHED_ENTRIES)).filter((entry) =>
    entry.id.startsWith(id),
  );
  if (matchingEntries.length === 0) throw commandErrors.messageUnknown({ id, count: MAX_SEARCHED_ENTRIES });
  const [first] = matchingEntries;
  if (matchingEntries.some(({ session_id: session }) => session !== first!.session_id))
    throw commandErrors.messageAmbiguous({ id });
  return Promise.all(
    matchingEntries
      .slice(0, 100)
      .reverse()
      .map((entry) => read(entry.id)),
  );
}
