import type { DevServer } from "../server/index.ts";
import type { MessageFilter, MessageSummary } from "./api.ts";
import { testHelperErrors } from "./errors.ts";
import { wireMessage } from "./wire-message.ts";

type Inbox = DevServer["control"]["inbox"];
type Search = Parameters<Inbox["list"]>[1];
type Stored = Awaited<ReturnType<Inbox["get"]>>;

const MAX_TIMEOUT_MS = 60_000;
const MAX_LISTED = 100;
/** Maximum number of messages to list in an error. */
const MAX_SHOWN = 10;

export async function waitForMessage(
  inbox: Inbox,
  account: string,
  { filter, timeout }: { filter: MessageFilter; timeout: number },
) {
  if (!(timeout >= 0 && timeout <= MAX_TIMEOUT_MS))
    throw testHelperErrors.timeoutTooLong({ timeout, max: MAX_TIMEOUT_MS });
  const page = { page: 1, perPage: 1 };
  const { items } = await inbox.wait(account, searchOf(filter), { count: 1, timeoutMs: timeout, page });
  const [found] = items;
  if (found === undefined)
    throw testHelperErrors.messageTimeout({
      filter: JSON.stringify(filter),
      timeout,
      inbox: contentsOf(await listInbox(inbox, account, {})),
    });
  const [{ text, html, headers, attachments }, raw] = await Promise.all([
    inbox.content(account, found.id),
    inbox.raw(account, found.id),
  ]);
  return {
    ...summaryOf(found),
    text,
    html,
    headers,
    attachments: attachments.map(({ filename, type, content }) => ({
      filename,
      type,
      content: Buffer.from(content).toString("base64"),
    })),
    raw: wireMessage(raw).raw,
  };
}

export async function listInbox(inbox: Inbox, account: string, filter: MessageFilter): Promise<MessageSummary[]> {
  const { items } = await inbox.list(account, searchOf(filter), { page: 1, perPage: MAX_LISTED });
  return items.map(summaryOf);
}

export const clearInbox = (inbox: Inbox, account: string, filter: MessageFilter): Promise<number> =>
  inbox.deleteMatching(account, searchOf(filter));

function searchOf({ from, to, subject, text, kind, status, worker, cause }: MessageFilter): Search {
  const contains = { from, to, subject, text };
  return [
    ...Object.entries(contains).flatMap(([field, value]) =>
      value === undefined ? [] : [{ field: field as keyof typeof contains, contains: value.toLowerCase() }],
    ),
    ...(kind === undefined ? [] : [{ field: "kind" as const, is: kind }]),
    ...(status === undefined ? [] : [{ field: "status" as const, is: status }]),
    ...(worker === undefined ? [] : [{ field: "worker" as const, is: worker }]),
    ...(cause === undefined ? [] : [{ field: "parent" as const, is: cause }]),
  ];
}

const summaryOf = ({ id, kind, status, at, from, to, subject, messageId, worker, parent }: Stored): MessageSummary => ({
  id,
  kind,
  status: status as MessageSummary["status"],
  timestamp: at.getTime(),
  from,
  to,
  subject,
  ...(messageId !== undefined && { messageId }),
  ...(worker !== undefined && { worker }),
  ...(parent !== undefined && { cause: parent }),
});

function contentsOf(messages: MessageSummary[]): string {
  if (messages.length === 0) return "The inbox is empty.";
  const lines = messages
    .slice(0, MAX_SHOWN)
    .map(
      ({ kind, from, to, subject }) =>
        `${kind} from ${from || "<>"} to ${to.join(", ")}, subject ${JSON.stringify(subject)}`,
    );
  return `The inbox has ${messages.length === MAX_LISTED ? "at least " : ""}${messages.length}:\n  ${lines.join("\n  ")}`;
}
