import type { Context } from "../context.ts";
import { plannedItem, withProgressRecord } from "../context.ts";
import type { PlannedItem, V4Client } from "../port.ts";
import { resultIfFound } from "../requests.ts";

interface Webhook {
  notificationUrl?: string;
  notification_url?: string;
  secret?: string;
}

/** Plans the import of the webhook of an account, which gets a new secret, and of a signing key. */
export async function planStreamAccount(context: Context): Promise<PlannedItem[]> {
  return [...(await planWebhook(context)), ...(await planSigningKey(context))];
}

async function planWebhook(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, followUp } = context;
  const read = (api: V4Client, base: string) => resultIfFound<Webhook>(api, `${base}/stream/webhook`);
  const urlOf = (hook: Webhook | undefined) => hook?.notificationUrl ?? hook?.notification_url;
  const [ours, theirs] = await Promise.all([read(source.api, paths.source), read(target.api, paths.target)]);
  const [url, existing] = [urlOf(ours), urlOf(theirs)];
  if (!url) return [];
  return [
    plannedItem(context, {
      kind: "webhook",
      key: "webhook",
      name: url,
      ...(!existing && { losses: ["it gets a new secret"] }),
      source: url,
      target: existing || undefined,
      async apply() {
        const made = await target.api.result<Webhook>("PUT", `${paths.target}/stream/webhook`, {
          json: { notificationUrl: url },
        });
        followUp.credentials.push({ what: `secret of the webhook ${url}`, value: made.secret ?? "" });
      },
    }),
  ];
}

async function planSigningKey(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths, followUp } = context;
  const list = (api: V4Client, base: string) => api.result<{ id: string }[]>("GET", `${base}/stream/keys`);
  const [ours, theirs] = await Promise.all([list(source.api, paths.source), list(target.api, paths.target)]);
  if (ours.length === 0) return [];
  const item = { kind: "signing key", key: "signing key", name: "Stream signing key" };
  if (theirs.length > 0) return [{ ...item, action: "unchanged" }];
  return [
    {
      ...item,
      action: "new",
      losses: [
        "private keys cannot be read: one new key replaces them, and tokens signed with the old ones become invalid",
      ],
      apply: withProgressRecord(context, item.key, "created", async () => {
        const made = await target.api.result<{ id: string; pem: string }>("POST", `${paths.target}/stream/keys`);
        followUp.credentials.push({ what: `Stream signing key ${made.id} (base64-encoded PEM)`, value: made.pem });
      }),
    },
  ];
}
