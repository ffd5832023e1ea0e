import type { Env } from "./index.ts";

export interface Notice {
  /** Id of the notice: lets the receiver detect duplicates. */
  id: string;
  messageId: string;
  from: string;
  to: string;
  subject: string;
  preview: string;
  attachments: number;
}

const timeoutMs = 5_000;
const keptForSeconds = 7 * 24 * 3600;
const retriedAtOnce = 10;

/** Delivers a notice, or stores it with the reason. Resolves with true if it was delivered. */
export async function notify(notice: Notice, env: Env): Promise<boolean> {
  const why = await failureOf(notice, env.NOTIFY_URL);
  const key = `pending/${notice.id}`;
  if (why === undefined) {
    await env.PENDING.delete(key);
    console.log(`notified ${env.NOTIFY_URL} of "${notice.subject}"`);
    return true;
  }
  await env.PENDING.put(key, JSON.stringify(notice), { expirationTtl: keptForSeconds, metadata: why });
  console.error(
    `could not notify ${env.NOTIFY_URL} of "${notice.subject}" (${why}). It is stored for 7 days and sent again after the next delivered notice.`,
  );
  return false;
}

/** Retries some pending notices until one fails, which means that the receiver is down again. */
export async function notifyPending(env: Env): Promise<void> {
  const { keys } = await env.PENDING.list({ prefix: "pending/", limit: retriedAtOnce });
  for (const { name } of keys) {
    const notice = await env.PENDING.get<Notice>(name, "json");
    if (notice !== null && !(await notify(notice, env))) return;
  }
}

async function failureOf(notice: Notice, url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(notice),
      signal: AbortSignal.timeout(timeoutMs),
    });
    return response.ok ? undefined : `it answered ${response.status}`;
  } catch (err) {
    return err instanceof Error ? err.message : String(err);
  }
}
