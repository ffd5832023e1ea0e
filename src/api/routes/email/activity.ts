import { z } from "@hono/zod-openapi";
import type { Caller, Resource } from "../../../accounts/index.ts";
import {
  activityErrors,
  ENTRY_ACTIONS,
  ENTRY_STATUSES,
  type Activity,
  type Entry,
  type EntryKind,
  type EntryQuery,
  type SentMessages,
} from "../../../mail/index.ts";
import { apiErrors } from "../../errors.ts";
import { hiddenZones } from "../../hidden-zones.ts";
import { respond, route, type Route } from "../../operation.ts";
import { entrySchema, showEntry, showTimeline, timelineSchema } from "./activity-schemas.ts";
import { messageContentsRoutes, type MessageContentsDeps } from "./message-contents.ts";

interface ActivityDeps extends Pick<MessageContentsDeps, "contents" | "workerExists"> {
  activity: Pick<Activity, "search" | "get">;
  /** Resolves with the account of an existing zone. */
  zoneAccount(zone: string): Promise<string | undefined>;
  messages: Pick<SentMessages, "open">;
  /**
   * Resolves with the operator's account. Its members also see mail that belongs to no account: verification messages
   * and returned bounces.
   */
  operator(): Promise<string | undefined>;
  /** Number of days for which message contents are stored. */
  messageDays: number;
}

const tag = "Email log";
const kind = z.enum(["routing", "sending"]);
const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .pipe(z.number());
const query = z.object({
  kind: kind.optional(),
  status: z.enum(ENTRY_STATUSES).optional(),
  action: z.enum(ENTRY_ACTIONS).optional(),
  from: z.string().min(1).max(320).optional(),
  to: z.string().min(1).max(320).optional(),
  search: z.string().min(1).max(200).optional(),
  since: time.optional(),
  until: time.optional(),
  cursor: z.string().max(100).optional(),
  per_page: z.coerce
    .number()
    .int()
    .min(1)
    .transform((size) => Math.min(size, 1000))
    .pipe(z.number())
    .default(50),
});

/** Any one of these permissions allows reading that part of the log. */
const READERS = {
  routing: ["Email Routing Rules Read", "Account Analytics Read"],
  sending: ["Email Sending Read", "Account Analytics Read"],
} as const;
const resourceOf = ({ account, zone }: { account: string; zone?: string }): Resource =>
  zone === undefined ? { account } : { account, zone };
const mayRead = (caller: Caller, which: EntryKind, resource: Resource) =>
  READERS[which].some((permission) => caller.allows(permission, resource));

/** Returns the part of an account's log that the caller may not see; usually undefined. */
function hiddenOf(caller: Caller, account: string): EntryQuery["hidden"] {
  const hidden = {
    routing: hiddenZones(caller, account, ...READERS.routing),
    sending: hiddenZones(caller, account, ...READERS.sending),
  };
  return hidden.routing.length + hidden.sending.length > 0 ? hidden : undefined;
}

/**
 * The message log, newest first, and sent messages. Pages are read by cursor: `result_info.cursor` leads to the next
 * page and is absent on the last one. A page examines a limited number of messages, so pages before the last one may be
 * short or even empty.
 */
export function activityRoutes({
  activity,
  zoneAccount,
  messages,
  messageDays,
  operator,
  contents,
  workerExists,
}: ActivityDeps): Route[] {
  /**
   * Returns the parts of the log that the caller may read. Throws notAllowed if the caller may read none of the
   * requested parts.
   */
  function readableKindOf(caller: Caller, resource: Resource, requested: EntryKind | undefined): EntryKind | undefined {
    const readableKinds = (["routing", "sending"] as const).filter(
      (which) => (requested === undefined || requested === which) && mayRead(caller, which, resource),
    );
    if (readableKinds.length === 0)
      throw apiErrors.notAllowed({
        permission: (requested === undefined ? [...READERS.routing, READERS.sending[0]] : READERS[requested])
          .map((permission) => JSON.stringify(permission))
          .join(" or "),
      });
    return readableKinds.length === 2 ? undefined : readableKinds[0];
  }

  /** `owner`: the account whose entries are listed. Default: the account of `scope`. */
  async function page(
    caller: Caller,
    scope: { account: string; zone?: string },
    { kind: requested, cursor, per_page: limit, ...filter }: z.output<typeof query>,
    owner: { account: string; zone?: string } = scope,
  ) {
    const which = readableKindOf(caller, resourceOf(scope), requested);
    const hidden = scope.zone === undefined ? hiddenOf(caller, scope.account) : undefined;
    const entryQuery: EntryQuery = {
      ...owner,
      ...(hidden !== undefined && { hidden }),
      ...(which !== undefined && { kind: which }),
      ...(cursor !== undefined && cursor !== "" && { after: cursor }),
      limit,
    };
    for (const [name, value] of Object.entries(filter))
      if (value !== undefined) Object.assign(entryQuery, { [name]: value });
    const { items, next } = await activity.search(entryQuery);
    return respond(items.map(showEntry), {
      info: {
        count: items.length,
        per_page: limit,
        ...(next !== undefined && { cursor: next }),
        next_cursor: next ?? null,
      },
    });
  }

  /** Throws noEntry, notAllowed. */
  async function findEntry(caller: Caller, scope: { account: string; zone?: string }, id: string): Promise<Entry> {
    const resource = resourceOf(scope);
    readableKindOf(caller, resource, undefined);
    const entry = await activity.get(scope, id).catch(async (err: unknown) => {
      if (scope.zone !== undefined || (await operator()) !== scope.account) throw err;
      return activity.get({ account: "" }, id);
    });
    readableKindOf(caller, resource, entry.kind);
    // An entry of a zone that a policy denies, requested by a caller who may read the account's other entries.
    if (!mayRead(caller, entry.kind, { account: scope.account, zone: entry.zone }))
      throw activityErrors.noEntry({ id });
    return entry;
  }

  async function timeline(caller: Caller, scope: { account: string; zone?: string }, id: string) {
    const entry = await findEntry(caller, scope, id);
    return respond(showTimeline(entry, { stored: (await contents.open(entry)) !== undefined }));
  }

  const zoneScopeOf = async ({ zone_id }: Record<string, string>) => ({
    account: (await zoneAccount(zone_id!))!,
    zone: zone_id!,
  });
  const accountScopeOf = ({ account_id }: Record<string, string>) => ({ account: account_id! });

  return [
    route(
      {
        id: "email-log-list-account",
        method: "get",
        path: "/accounts/{account_id}/email/activity",
        tag,
        summary: "List message activity, newest first",
        permission: null,
        query: query.extend({
          zone_id: z.string().max(32).optional(),
          platform: z.enum(["true", "false"]).default("false"),
        }),
        result: z.array(entrySchema),
      },
      async ({ params, query: { zone_id, platform, ...requested }, caller }) => {
        const scope = accountScopeOf(params);
        if (platform === "false")
          return page(caller, { ...scope, ...(zone_id !== undefined && { zone: zone_id }) }, requested);
        if ((await operator()) === scope.account) return page(caller, scope, requested, { account: "" });
        readableKindOf(caller, scope, requested.kind);
        return respond([], { info: { count: 0, per_page: requested.per_page, next_cursor: null } });
      },
    ),
    route(
      {
        id: "email-log-get-account",
        method: "get",
        path: "/accounts/{account_id}/email/activity/{entry_id}",
        tag,
        summary: "Get the activity of one message, step by step",
        permission: null,
        result: timelineSchema,
      },
      async ({ params, caller }) => timeline(caller, accountScopeOf(params), params.entry_id!),
    ),
    route(
      {
        id: "email-log-list-zone",
        method: "get",
        path: "/zones/{zone_id}/email/activity",
        tag,
        summary: "List the message activity of a zone, newest first",
        permission: null,
        query,
        result: z.array(entrySchema),
      },
      async ({ params, query: requested, caller }) => page(caller, await zoneScopeOf(params), requested),
    ),
    route(
      {
        id: "email-log-get-zone",
        method: "get",
        path: "/zones/{zone_id}/email/activity/{entry_id}",
        tag,
        summary: "Get the activity of one message of a zone, step by step",
        permission: null,
        result: timelineSchema,
      },
      async ({ params, caller }) => timeline(caller, await zoneScopeOf(params), params.entry_id!),
    ),
    ...messageContentsRoutes({
      contents,
      workerExists,
      findEntry: (caller, account, id) => findEntry(caller, { account }, id),
    }),

    route(
      {
        id: "email-sending-get-email-message",
        method: "get",
        path: "/accounts/{account_id}/email/sending/messages/{message_id}",
        tag: "Email Sending",
        summary: "Get the raw content of a sent message",
        permission: "Email Sending Read",
        raw: "message/rfc822",
      },
      async ({ params: { account_id: account, message_id: id } }) => {
        const headerId = id!.startsWith("<") ? id! : `<${id}>`;
        const message = await messages.open(account!, headerId);
        if (message === undefined) throw activityErrors.noMessage({ id, days: messageDays });
        return new Response(new Uint8Array(await message.bytes()), {
          // Received mail is untrusted and may contain anything that a browser would execute.
          headers: {
            "content-type": "message/rfc822",
            "x-content-type-options": "nosniff",
            "content-disposition": 'attachment; filename="message.eml"',
            "cache-control": "no-store",
          },
        });
      },
    ),
  ];
}
