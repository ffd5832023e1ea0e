import { join } from "node:path";
import { createLinkInDatabase } from "../accounts/index.ts";
import type { Clock } from "../kernel/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import type { Settings, SettingsInput } from "../kernel/settings.ts";

interface SignInLinkOptions {
  cwd: string;
  env: Record<string, string | undefined>;
  settingsFile?: string;
  overrides?: SettingsInput;
  /** The email address of a user. Default: the first user. */
  email?: string;
  clock: Clock;
}

/**
 * Creates a sign-in link for the server with these settings, which may be running. Rejects with noUser before the first
 * start, and noUserOf.
 */
export async function createSignInLink({
  cwd,
  env,
  settingsFile,
  overrides,
  email,
  clock,
}: SignInLinkOptions): Promise<{ url: string; email: string; expiresAt: number }> {
  const { settings } = await readSettings({
    cwd,
    env,
    ...(settingsFile !== undefined && { file: settingsFile }),
    ...(overrides !== undefined && { overrides }),
  });
  const { secret, user, expiresAt } = await createLinkInDatabase(
    settings.database.url === "" ? { path: join(settings.data_dir, "reelpost.sqlite") } : settings.database,
    { email, clock },
  );
  return { url: signInUrl(dashboardUrl(settings), secret), email: user.email, expiresAt };
}

/**
 * Returns the URL of the dashboard page that redeems the sign-in link. The secret follows "#", so that no proxy and no log receives
 * it.
 */
export const signInUrl = (dashboard: string, secret: string): string => `${dashboard}/sign-in#link=${secret}`;

/** Returns the URL of the dashboard of a server in another process, according to its settings. */
function dashboardUrl({ dashboard: { hosts, port }, http, tls }: Settings): string {
  const [host] = hosts;
  if (host === undefined) return `http://localhost:${port}`;
  const { protocol, port: publicPort } = new URL(http.public_url === "" ? ownUrl({ http, tls }) : http.public_url);
  return `${protocol}//${host}${publicPort === "" ? "" : `:${publicPort}`}`;
}

const ownUrl = ({ http, tls }: Pick<Settings, "http" | "tls">) =>
  tls.https ? `https://localhost:${tls.https_port}` : `http://localhost:${http.port}`;
