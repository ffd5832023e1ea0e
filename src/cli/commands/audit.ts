import { connectToApi, connectUser } from "../api/connect.ts";
import { pagesOf } from "../api/lists.ts";
import { type Command, defineCommand } from "../command.ts";
import { formatUtcTime, printResult, table } from "../print.ts";
import { limitOption, serverOptions } from "../shared-options.ts";
import { parseTimeOption } from "../time-option.ts";

interface Entry {
  when: string;
  action: { type: string };
  actor: { email?: string; ip?: string };
  interface: string;
  resource: { type: string; id?: string };
  metadata: { summary: string };
}

const DEFAULT_LIMIT = 50;
const MAX_PAGE = 1000;

const auditList = defineCommand({
  name: "audit list",
  summary: "list changes in the account, newest first",
  description:
    "Who changed what, when, and from where. Values before and after a change are in the output of `--json`, without secrets.",
  options: {
    since: { type: "string", placeholder: "time", summary: "changes since a time, or within a duration such as 24h" },
    before: {
      type: "string",
      placeholder: "time",
      summary: "changes before this time: a timestamp, or a duration before now",
    },
    actor: { type: "string", placeholder: "email", summary: "changes by this user" },
    ip: { type: "string", placeholder: "address", summary: "changes from this address or range" },
    action: { type: "string", placeholder: "name", summary: "create, update, delete or another action" },
    operation: { type: "string", placeholder: "id", summary: "changes by this API operation" },
    resource: { type: "string", placeholder: "id", summary: "changes of the resource with this id" },
    zone: { type: "string", placeholder: "domain", summary: "changes in this zone" },
    mine: { type: "boolean", summary: "your own changes in all accounts" },
    ...limitOption(10_000, DEFAULT_LIMIT),
    ...serverOptions,
  },
  examples: [
    ["reelpost audit list --since 24h", "the changes of the last day"],
    ["reelpost audit list --action delete --actor ann@example.com", "what one user deleted"],
    [
      "reelpost audit list --resource 372e67954025e0ba6aaa6d586b9e0b59 --json",
      "the history of a resource, with values",
    ],
  ],
  async run({ since, before, actor, ip, action, operation, resource, zone, mine, limit, ...values }, _, context) {
    const now = context.clock.now();
    const query = {
      since: since && parseTimeOption("--since", since, now),
      before: before && parseTimeOption("--before", before, now),
      "actor.email": actor,
      "actor.ip": ip,
      "action.type": action,
      "resource.id": resource,
      "zone.name": zone,
      operation,
    };
    const { api, path } = mine === true ? await userLog() : await accountLog();
    const wanted = limit ?? DEFAULT_LIMIT;
    const entries: Entry[] = [];
    for await (const entry of pagesOf<Entry>(api, path, { query, perPage: Math.min(wanted, MAX_PAGE) })) {
      entries.push(entry);
      if (entries.length === wanted) break;
    }
    printResult(context, entries, (paint) =>
      table(
        ["time", "user", "from", "action", "resource", "change"],
        entries.map((entry) => [
          formatUtcTime(entry.when),
          entry.actor.email ?? entry.interface,
          entry.actor.ip ?? "",
          entry.action.type,
          [entry.resource.type, entry.resource.id].filter((text) => text !== undefined).join(" "),
          entry.metadata.summary,
        ]),
        paint,
      ),
    );
    return 0;

    async function accountLog() {
      const { api: client, base } = await connectToApi(values, context);
      return { api: client, path: `${base}/audit_logs` };
    }
    async function userLog() {
      return { api: (await connectUser(values, context)).api, path: "/user/audit_logs" };
    }
  },
});

export const auditCommands: readonly Command[] = [auditList];
