import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Provider } from "oidc-provider";

export const CLIENT = { id: "reelpost", secret: "client-secret-client-secret" };

interface ProviderUser {
  email?: string;
  email_verified?: boolean;
}

/** Starts a real OpenID Connect provider on loopback, whose users sign in with the number of the account. */
export async function startProvider(
  t: TestContext,
  {
    redirectUris,
    users,
    claimsInIdToken = false,
  }: { redirectUris: string[]; users: Record<string, ProviderUser>; claimsInIdToken?: boolean },
) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: redirectUris }],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    conformIdTokenClaims: !claimsInIdToken,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: async () => ({ sub, ...users[sub] }) }),
  });
  server.on("request", provider.callback());
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { issuer, browse };
}

/**
 * Follows redirects with cookies and submits the forms of the provider, as a browser does. Returns the URL outside the
 * provider to which it redirects.
 */
async function browse(start: string, user: string): Promise<string> {
  const { origin } = new URL(start);
  const cookies = new Map<string, string>();
  let url = new URL(start);
  let form: URLSearchParams | undefined;
  for (let hop = 0; hop < 20; hop++) {
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form !== undefined && { body: form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      cookies.set(name!, value!);
    }
    const location = response.headers.get("location");
    const page = await response.text();
    if (location !== null) {
      url = new URL(location, url);
      form = undefined;
      if (url.origin !== origin) return url.href;
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    if (response.status !== 200 || action === undefined)
      throw new Error(`the provider answered ${response.status} without a form: ${page}`);
    url = new URL(action, url);
    form = new URLSearchParams(
      page.includes('name="login"') ? { prompt: "login", login: user, password: "any" } : { prompt: "consent" },
    );
  }
  throw new Error("too many redirects");
}
