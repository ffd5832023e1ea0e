import { digestOfItem, plannedItem, withProgressRecord, type Context } from "../context.ts";
import { migrateErrors } from "../errors.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath, chunksOf, collect, readCursorPages, hasErrorStatus, readNumberedPages } from "../requests.ts";
import type { SourceZone } from "./zone.ts";

interface SendingDomain {
  tag: string;
  name: string;
  enabled?: boolean;
  preview_enabled?: boolean;
  drop_suppressed_recipients?: boolean;
}

interface Suppression {
  id: string;
  email: string;
  reason?: string;
  expires_at?: string | null;
  note?: string | null;
  scope?: { type: string; value?: string };
}

const domainsOf = async (api: Context["source"]["api"], zone: string): Promise<SendingDomain[]> =>
  collect(
    readNumberedPages<SendingDomain>(api, apiPath`/zones/${zone}/email/sending/subdomains`, { perPage: 100 }),
  ).catch((thrown: unknown) => {
    // The server does not support Email Sending.
    if (hasErrorStatus(thrown, 404)) return [];
    throw thrown;
  });

/** Plans the import of the sending domains of one zone. Their DKIM keys are new. */
export async function planSendingDomains(context: Context, zone: SourceZone): Promise<PlannedItem[]> {
  const targetZone = context.ids.find("zone", zone.id);
  const [ours, theirs] = await Promise.all([
    domainsOf(context.source.api, zone.id),
    targetZone === undefined ? [] : domainsOf(context.target.api, targetZone),
  ]);
  return ours
    .filter(({ enabled }) => enabled !== false)
    .map((domain) => {
      const existing = theirs.find(({ name }) => name === domain.name);
      const settings = ({ preview_enabled = false, drop_suppressed_recipients = false }: SendingDomain) => ({
        preview_enabled,
        drop_suppressed_recipients,
      });
      return plannedItem(context, {
        kind: "sending domain",
        key: `sending ${zone.id} ${domain.name}`,
        name: domain.name,
        losses: ["it gets a new DKIM key and selector"],
        source: settings(domain),
        target: existing && settings(existing),
        async apply() {
          const path = apiPath`/zones/${context.ids.require("zone", zone.id, `The zone ${zone.name}`)}/email/sending/subdomains`;
          const { api } = context.target;
          const { tag } = existing ?? (await api.result<SendingDomain>("POST", path, { json: { name: domain.name } }));
          await api.result("PATCH", path + apiPath`/${tag}`, { json: settings(domain) });
        },
      });
    });
}

/** The API accepts at most this many suppressions in one request. */
const BULK = 100;

const keyOf = ({ email, scope }: Suppression) =>
  `${email.toLowerCase()} ${scope?.type ?? "account"} ${scope?.value ?? ""}`;

async function suppressionsOf(api: Context["source"]["api"], base: string): Promise<Suppression[]> {
  return collect(
    readCursorPages<Suppression>(api, `${base}/email/sending/suppressions`, { query: { per_page: 1000 } }),
  ).catch((thrown: unknown) => {
    if (hasErrorStatus(thrown, 404)) return [];
    throw thrown;
  });
}

/** Plans the import of the suppressions that the target lacks, as one item. */
export async function planSuppressions(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, clock } = context;
  const [ours, theirs] = await Promise.all([
    suppressionsOf(source.api, paths.source),
    suppressionsOf(target.api, paths.target),
  ]);
  if (ours.length === 0) return [];
  const existing = new Set(theirs.map(keyOf));
  const missing = ours.filter(
    (one) => !existing.has(keyOf(one)) && (one.expires_at == null || Date.parse(one.expires_at) > clock.now()),
  );
  const item = { kind: "suppressed address", key: "suppressions", name: `${ours.length} suppressed addresses` };
  if (missing.length === 0) return [{ ...item, action: "unchanged" }];
  return [
    {
      ...item,
      action: "new",
      entries: missing.length,
      apply: withProgressRecord(context, item.key, digestOfItem(ours.map(keyOf)), async (progress) => {
        for (const batch of chunksOf(missing, BULK)) {
          const { items } = await target.api.result<{ items: { status: string; email?: string; error?: string }[] }>(
            "POST",
            `${paths.target}/email/sending/suppressions/bulk`,
            { json: { items: batch.map(requestOf) } },
          );
          const refused = items.filter(({ status }) => status === "invalid" || status === "error");
          if (refused.length > 0)
            throw migrateErrors.incomplete({
              what: `${refused.length} suppressed addresses were not imported`,
              reason: refused
                .slice(0, 3)
                .map(({ email, error }) => `${email ?? "?"}: ${error ?? "refused"}`)
                .join("; "),
            });
          progress.entries(batch.length);
        }
      }),
    },
  ];
}

const requestOf = ({ email, expires_at, note, reason, scope }: Suppression) => ({
  email,
  ...(expires_at != null && { expires_at }),
  // The new entry is a manual one; the note keeps the original reason.
  note: note || `imported${reason === undefined ? "" : `, reason: ${reason}`}`,
  ...(scope !== undefined && { scope }),
});
