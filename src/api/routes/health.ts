import { z } from "@hono/zod-openapi";
import type { Caller } from "../../accounts/index.ts";
import type { Clock } from "../../kernel/index.ts";
import type { Mail } from "../../mail/index.ts";
import type { VideoCatalog } from "../../stream/index.ts";
import { hiddenZones } from "../hidden-zones.ts";
import { apiErrors } from "../errors.ts";
import { respond, route, type Route } from "../operation.ts";

const STATUSES = ["ok", "warning", "error"] as const;

interface ComponentHealth {
  name: string;
  status: (typeof STATUSES)[number];
  reason: string;
  fix: string | null;
}

export interface HealthDeps {
  /** Resolves with the server's components; shown to the operator only. */
  components(): Promise<ComponentHealth[]>;
  mail: {
    routing: {
      addresses: Pick<Mail["routing"]["addresses"], "list">;
      settings: Pick<Mail["routing"]["settings"], "list">;
    };
    queue: Pick<Mail["queue"], "list" | "pausesOf">;
  };
  stream: { videos: Pick<VideoCatalog, "list"> };
  operator(): Promise<string | undefined>;
  clock: Pick<Clock, "now">;
}

const itemSchema = z.object({
  kind: z.enum(["destination-address", "routing-dns", "queue-paused", "queue-delayed", "video-failed"]),
  status: z.enum(["warning", "error"]),
  text: z.string(),
  fix: z.string(),
  topic: z.string(),
  id: z.string(),
  zone_id: z.string().nullable(),
});
type Item = z.input<typeof itemSchema>;

/** Maximum number of items of one kind; the pages of that area list all of them. */
const MAX_ITEMS = 10;
const HOUR_MS = 3_600_000;
/** Deferred mail that is older needs attention. */
const OLD_MS = 4 * HOUR_MS;
const WEEK_MS = 7 * 24 * HOUR_MS;

/** The state of an account at a glance: components, and what needs attention. */
export function healthRoutes({ components, mail, stream, operator, clock }: HealthDeps): Route[] {
  const finders: ((caller: Caller, account: string) => Promise<Item[]>)[] = [
    async (caller, account) => {
      if (!caller.allows("Email Routing Addresses Read", { account })) return [];
      const { items } = await mail.routing.addresses.list(
        account,
        { verified: false },
        { page: 1, perPage: MAX_ITEMS },
      );
      return items.map(({ id, email }) => ({
        kind: "destination-address",
        status: "warning",
        text: `${email} is not verified: rules that forward to it are disabled.`,
        fix: "Open the link in the verification message, or send it again.",
        topic: "routing",
        id,
        zone_id: null,
      }));
    },
    async (caller, account) => {
      if (!caller.allows("Zone Settings Read", { account })) return [];
      const { items } = await mail.routing.settings.list(
        account,
        { page: 1, perPage: 50 },
        { hidden: hiddenZones(caller, account, "Zone Settings Read") },
      );
      return items
        .filter(({ enabled, status }) => enabled && status.startsWith("misconfigured"))
        .slice(0, MAX_ITEMS)
        .map(({ id, name }) => ({
          kind: "routing-dns",
          status: "error",
          text: `DNS records that ${name} needs for mail are missing or wrong.`,
          fix: "Add the records listed on the domain's page.",
          topic: "dns",
          id,
          zone_id: id,
        }));
    },
    async (caller, account) => {
      if (!caller.allows("Email Sending Read", { account })) return [];
      const [pauses, { items: deferred }] = await Promise.all([
        mail.queue.pausesOf(account),
        mail.queue.list({ account, state: "deferred", limit: 100 }),
      ]);
      const oldest = deferred.at(-1);
      return [
        ...pauses.slice(0, MAX_ITEMS).map(({ destination, until, why }): Item => ({
          kind: "queue-paused",
          status: "warning",
          text: `Mail to ${destination} is paused until ${until.toISOString()}: ${why}.`,
          fix: "Resume the destination once its server accepts mail.",
          topic: "queue",
          id: destination,
          zone_id: null,
        })),
        ...(oldest !== undefined && clock.now() - oldest.message.createdAt.getTime() > OLD_MS
          ? [
              {
                kind: "queue-delayed",
                status: "warning",
                text: `${deferred.length === 100 ? "At least 100" : deferred.length} ${deferred.length === 1 ? "recipient waits" : "recipients wait"} in the queue, the oldest since ${oldest.message.createdAt.toISOString()}.`,
                fix: "Read the replies of the receiving servers in the queue.",
                topic: "queue",
                id: oldest.message.id,
                zone_id: null,
              } satisfies Item,
            ]
          : []),
      ];
    },
    async (caller, account) => {
      if (!caller.allows("Stream Read", { account })) return [];
      const failed = await stream.videos.list(account, { states: ["error"], limit: MAX_ITEMS });
      return failed
        .filter(({ modified }) => clock.now() - modified < WEEK_MS)
        .map(({ uid, meta, errorReason }) => ({
          kind: "video-failed",
          status: "error",
          text: `The video ${typeof meta["name"] === "string" ? meta["name"] : uid} failed: ${errorReason?.text ?? "unknown error"}`,
          fix: "Upload it again in another format, or delete it.",
          topic: "videos",
          id: uid,
          zone_id: null,
        }));
    },
  ];

  return [
    route(
      {
        id: "account-health",
        method: "get",
        path: "/accounts/{account_id}/health",
        tag: "Server",
        summary: "Get the state of components and what needs attention, as far as the token may read it",
        permission: null,
        result: z.object({
          status: z.enum(STATUSES),
          components: z.array(
            z.object({ name: z.string(), status: z.enum(STATUSES), reason: z.string(), fix: z.string().nullable() }),
          ),
          attention: z.array(itemSchema),
        }),
      },
      async ({ caller, params: { account_id: account } }) => {
        if (!caller.accounts.includes(account!))
          throw apiErrors.notAllowed({ permission: "any permission in the account" });
        const isOperator =
          (await operator()) === account && caller.allows("Account Settings Read", { account: account! });
        const [parts, ...items] = await Promise.all([
          isOperator ? components() : [],
          ...finders.map((find) => find(caller, account!)),
        ]);
        const attention = items.flat();
        const found = new Set([...parts, ...attention].map(({ status }) => status));
        const status = STATUSES.findLast((one) => found.has(one)) ?? "ok";
        return respond({
          status,
          components: parts,
          attention,
        });
      },
    ),
  ];
}
