import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand, EXIT } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { connectInbox, inboxOptions } from "../inbox/connect.ts";
import { messageLines, messageTable, type InboxDetails, type ApiInboxMessage } from "../inbox/message.ts";
import { plural, printResult, table } from "../print.ts";
import { saveBody } from "../save.ts";
import { limitOption, yesOption } from "../shared-options.ts";

const idArgument = { name: "id", summary: "id of the message, from `inbox list`", required: true } as const;
const searchOption = {
  search: {
    type: "string",
    placeholder: "search",
    summary:
      "words, from:, to:, subject:, worker:, kind:, status:, has:attachment, is:unread, before: and after:; a leading - excludes",
  },
} as const;
const SEARCH_DESCRIPTION = `All terms of a search must match: words and "phrases" in the addresses, the subject and the text, and terms such as
from:ada@example.com, subject:"order 17", kind:replied, status:rejected and after:2026-05-31.`;

const list = defineCommand({
  name: "inbox list",
  summary: "list received, forwarded, replied and sent messages, newest first",
  description: SEARCH_DESCRIPTION,
  options: { ...searchOption, ...limitOption(1000, 50, "messages"), ...inboxOptions },
  examples: [
    ["reelpost inbox list", "the newest messages"],
    ["reelpost inbox list --search 'to:support@example.com has:attachment'", "those that match"],
  ],
  async run(values, _, context) {
    const { api, messages } = await connectInbox(values, context);
    const found = await api.result<ApiInboxMessage[]>("GET", messages, {
      query: { query: values.search, per_page: values.limit ?? 50 },
    });
    printResult(context, found, (paint) => messageTable(found, paint));
    return 0;
  },
});

const get = defineCommand({
  name: "inbox get",
  summary: "show a message",
  arguments: [idArgument],
  options: {
    raw: { type: "boolean", summary: "write the raw message to standard output" },
    ...inboxOptions,
  },
  examples: [
    ["reelpost inbox get 5f0c…", "envelope, results, text and what it caused"],
    ["reelpost inbox get 5f0c… --raw > message.eml", "the message itself"],
  ],
  async run(values, [id], context) {
    const { api, messages } = await connectInbox(values, context);
    const path = `${messages}${at`/${id!}`}`;
    if (values.raw === true) {
      await saveBody(await api.raw("GET", `${path}/raw`), undefined, context, () => {});
      return 0;
    }
    const details = await api.result<InboxDetails>("GET", path);
    printResult(context, details, (paint) => messageLines(details, paint));
    return 0;
  },
});

const MAX_WAIT_SECONDS = 60;

const wait = defineCommand({
  name: "inbox wait",
  summary: "wait for messages that match, and print them",
  description: `${SEARCH_DESCRIPTION}

Returns immediately if enough messages match already. The exit code is 1 if they have not arrived in time.`,
  options: {
    ...searchOption,
    count: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 1000,
      summary: "number of messages",
      defaultText: "1",
    },
    timeout: {
      type: "number",
      placeholder: "seconds",
      min: 1,
      max: 3600,
      summary: "maximum time to wait",
      defaultText: "30",
    },
    ...inboxOptions,
  },
  examples: [
    ["reelpost inbox wait --search 'kind:replied to:ada@example.com' --json", "in a test script"],
    ["reelpost inbox wait --search subject:report --count 2 --timeout 120", "for two messages"],
  ],
  async run(values, _, context) {
    const { api, messages } = await connectInbox(values, context);
    const { search: query, count = 1, timeout = 30 } = values;
    const deadline = performance.now() + timeout * 1000;
    for (;;) {
      const seconds = Math.max(0, Math.min(MAX_WAIT_SECONDS, (deadline - performance.now()) / 1000));
      const found = await api.result<ApiInboxMessage[]>("GET", messages, {
        query: { query, count, wait: seconds.toFixed(3), per_page: Math.max(50, count) },
        timeoutMs: (MAX_WAIT_SECONDS + 30) * 1000,
      });
      const isEnough = found.length >= count;
      if (!isEnough && performance.now() < deadline) continue;
      printResult(context, found, (paint) => messageTable(found, paint));
      if (!isEnough) context.stderr.line(`${plural(found.length, "message")} of ${count} arrived within ${timeout} s`);
      return isEnough ? 0 : EXIT.failed;
    }
  },
});

const deleteCommand = defineCommand({
  name: "inbox delete",
  summary: "delete one message, those that match, or all",
  arguments: [{ ...idArgument, required: false }],
  options: {
    ...searchOption,
    all: { type: "boolean", summary: "delete every message" },
    ...yesOption,
    ...inboxOptions,
  },
  examples: [
    ["reelpost inbox delete 5f0c…", "one message"],
    ["reelpost inbox delete --all --yes", "before a test"],
  ],
  async run(values, [id], context) {
    const { search, all = false, yes } = values;
    if (id === undefined && search === undefined && !all) throw commandErrors.nothingSelected();
    const { api, messages } = await connectInbox(values, context);
    if (id !== undefined) {
      const deleted = await api.result<{ id: string }>("DELETE", `${messages}${at`/${id}`}`);
      printResult(context, deleted, () => [`Deleted the message ${id}.`]);
      return 0;
    }
    await confirm(
      `Delete ${search === undefined ? "all messages" : `the messages that match ${search}`}?`,
      yes,
      context,
    );
    const deleted = await api.result<{ deleted: number }>("DELETE", messages, { query: { query: search } });
    printResult(context, deleted, () => [`Deleted ${plural(deleted.deleted, "message")}.`]);
    return 0;
  },
});

interface Released {
  to: string;
  outcome: string;
  reply: string;
}

const release = defineCommand({
  name: "inbox release",
  summary: "send a message to an SMTP server",
  arguments: [idArgument],
  options: {
    server: {
      type: "string",
      placeholder: "url",
      summary: "smtp://user:password@host:587 or smtps://user:password@host",
      defaultText: "the setting inbox.release_server",
    },
    from: { type: "string", placeholder: "address", summary: "envelope sender", defaultText: "that of the message" },
    to: {
      type: "string",
      placeholder: "address",
      multiple: true,
      summary: "envelope recipient",
      defaultText: "those of the message",
    },
    ...inboxOptions,
  },
  examples: [["reelpost inbox release 5f0c… --server smtp://localhost:1025 --to me@example.com", "to one recipient"]],
  async run(values, [id], context) {
    const { api, messages } = await connectInbox(values, context);
    const { server, from, to } = values;
    const results = await api.result<Released[]>("POST", `${messages}${at`/${id!}`}/release`, {
      json: { server, from, ...(to.length > 0 && { to }) },
      timeoutMs: 120_000,
    });
    printResult(context, results, (paint) =>
      table(
        ["recipient", "result", "reply"],
        results.map((result) => [result.to, result.outcome, result.reply]),
        paint,
      ),
    );
    return results.every(({ outcome }) => outcome === "delivered") ? 0 : EXIT.failed;
  },
});

export const inboxCommands: readonly Command[] = [list, get, wait, deleteCommand, release];
