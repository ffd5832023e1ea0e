import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import PostalMime from "postal-mime";
import { CLIENT, startProvider } from "../../src/accounts/sign-in/provider.testing.ts";
import { codeAt } from "../../src/accounts/sign-in/sign-in.testing.ts";
import { withoutChromium } from "../support/browser.ts";
import { freePort } from "../support/free-ports.ts";
import { until } from "../support/mail-world.ts";
import { suiteScope } from "../support/suite-scope.ts";
import { addVirtualAuthenticator, EMAIL, enterPassword, heading, PASSWORD, signOut } from "./sign-in-steps.ts";
import { checkPage, startDashboard, type DashboardServer } from "./support.ts";

describe("the settings pages", { skip: withoutChromium() }, () => {
  const scope = suiteScope();
  let dashboard: DashboardServer;
  before(async () => {
    dashboard = await startDashboard(scope);
  });

  test("the link of the first start opens a session, which sets up a password, a passkey and two factors", async () => {
    const { pathname, hash } = new URL(dashboard.server.ready.signInLink!);
    const { page, problems } = await dashboard.open(`${pathname}${hash}`, { token: null });
    await heading(page, "Home").waitFor();
    assert.equal(new URL(page.url()).hash, "");
    await page.goto(`${dashboard.origin}/settings/account`);
    await page.getByRole("table", { name: "Sessions" }).getByText("This session").waitFor();
    await checkPage(page, "settings-account");

    await page.getByRole("button", { name: "Set password" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("New password", { exact: true }).fill("short");
    await dialog.getByLabel("Repeat the new password").fill("different");
    await dialog.getByRole("button", { name: "Set password" }).click();
    await dialog.getByText("The passwords do not match").waitFor();
    await dialog.getByLabel("Repeat the new password").fill("short");
    await dialog.getByRole("button", { name: "Set password" }).click();
    await dialog.getByRole("alert").first().waitFor();
    await checkPage(page, "settings-password-error");
    await dialog.getByLabel("New password", { exact: true }).fill(PASSWORD);
    await dialog.getByLabel("Repeat the new password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Set password" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Change password" }).waitFor();

    await signOut(page);
    await checkPage(page, "sign-in-all");
    await enterPassword(page);
    await heading(page, "Your account").waitFor();

    await addVirtualAuthenticator(page);
    await page.getByRole("button", { name: "Add passkey" }).click();
    await dialog.getByLabel("Name").fill("Laptop");
    await dialog.getByRole("button", { name: "Add passkey" }).click();
    await page
      .getByRole("table", { name: "Passkeys" })
      .getByRole("row", { name: /Laptop/ })
      .waitFor();
    await signOut(page);
    await page.getByRole("button", { name: "Use a passkey" }).click();
    await heading(page, "Your account").waitFor();

    await page.getByRole("button", { name: "Enable two-factor authentication" }).click();
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.getByRole("img", { name: "QR code for the authenticator app" }).waitFor();
    await checkPage(page, "settings-two-factor");
    const secret = await dialog.locator("code").first().innerText();
    await dialog.getByLabel("Code from the app").fill(codeAt(secret, Date.now()));
    await dialog.getByRole("button", { name: "Enable" }).click();
    const codes = page.getByRole("dialog", { name: "Recovery codes" });
    const text = await codes.locator("pre").innerText();
    await checkPage(page, "settings-recovery-codes");
    await codes.getByRole("button", { name: "I have saved the codes" }).click();
    await page.getByText(/recovery codes are left/).waitFor();

    await signOut(page);
    await enterPassword(page);
    await page.getByLabel("Code").waitFor();
    await checkPage(page, "sign-in-code");
    const enterCode = async (onPage: Page, code: string) => {
      await onPage.getByLabel("Code").fill(code);
      await onPage.getByRole("button", { name: "Sign in", exact: true }).click();
    };
    const [first, second] = text.split("\n");
    await enterCode(page, first!);
    await heading(page, "Your account").waitFor();

    const { page: other } = await dashboard.open("/dns", { token: null });
    await enterPassword(other);
    await enterCode(other, second!);
    await heading(other, "DNS").waitFor();
    await page.reload();
    await page
      .getByRole("button", { name: /^Revoke the session of/ })
      .first()
      .waitFor();
    await checkPage(page, "settings-account-complete");
    await page.getByRole("button", { name: "Revoke other sessions" }).click();
    await dialog.getByRole("button", { name: "Revoke other sessions" }).click();
    await page
      .getByRole("button", { name: /^Revoke the session of/ })
      .first()
      .waitFor({ state: "detached" });
    await other.getByRole("button", { name: "Create zone" }).first().waitFor();
    await other.reload();
    await other.getByText("Your session has ended").waitFor();
    // The browser logs the request with the rejected password.
    assert.deepEqual(
      problems.filter((problem) => !/status of 400/.test(problem)),
      [],
    );
  });

  test("a token is created with permissions, tested, used, rolled and deleted", async () => {
    const { page, problems } = await dashboard.open("/settings/tokens");
    const status = async (value: string) =>
      (await fetch(`${dashboard.api}/zones`, { headers: { authorization: `Bearer ${value}` } })).status;
    await page.getByRole("button", { name: "Create token" }).first().click();
    const form = page.getByRole("dialog", { name: "Create token" });
    await form.getByLabel("Search permissions").waitFor();
    await form.getByLabel("Name", { exact: true }).fill("deploy");
    await form.getByRole("button", { name: "Create token" }).click();
    await form.getByText("Select at least one permission").waitFor();
    await form.getByLabel("Search permissions").fill("zone");
    await form.getByLabel("Zone Read", { exact: true }).check();
    await form.getByLabel("Search permissions").fill("");
    await form.getByLabel("Workers Scripts Write").check();
    await checkPage(page, "settings-token-create");
    await form.getByRole("button", { name: "Create token" }).click();

    const shown = page.getByRole("dialog", { name: "Token deploy" });
    const value = await shown.locator("code").innerText();
    await shown.getByRole("button", { name: "Test token" }).click();
    await shown.getByText("The server accepted the token.").waitFor();
    await checkPage(page, "settings-token-value");
    assert.equal(await status(value), 200);
    await shown.getByRole("button", { name: "Done" }).click();
    const row = page.getByRole("row", { name: /deploy/ });
    await row.getByText("Zone Read").waitFor();
    await checkPage(page, "settings-tokens");
    assert.equal(await page.getByText(value).count(), 0);

    await page.getByRole("button", { name: "Actions for deploy" }).click();
    await page.getByRole("menuitem", { name: "Rotate" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate token" }).click();
    const rolled = await shown.locator("code").innerText();
    assert.notEqual(rolled, value);
    assert.deepEqual([await status(value), await status(rolled)], [401, 200]);
    await shown.getByRole("button", { name: "Done" }).click();

    await page.getByRole("button", { name: "Actions for deploy" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete token" }).click();
    await row.waitFor({ state: "detached" });
    assert.equal(await status(rolled), 401);
    assert.deepEqual(problems, []);
  });

  test("a member is invited, gets another role, and the invitation is cancelled", async () => {
    const { page, problems } = await dashboard.open("/settings/members");
    await page.getByRole("row", { name: new RegExp(EMAIL) }).waitFor();
    await page.getByRole("button", { name: "Invite member" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Email").fill("bob@example.com");
    await dialog.getByLabel("Viewer").check();
    await checkPage(page, "settings-invite");
    await dialog.getByRole("button", { name: "Invite member" }).click();
    const row = page.getByRole("row", { name: /bob@example\.com/ });
    await row.getByText("Viewer").waitFor();
    await dialog.waitFor({ state: "detached" });
    await checkPage(page, "settings-members");

    const act = async (action: string) => {
      await page.getByRole("button", { name: "Actions for bob@example.com" }).click();
      await page.getByRole("menuitem", { name: action }).click();
    };
    await act("Change role");
    await dialog.getByLabel("Editor").check();
    await dialog.getByRole("button", { name: "Change role" }).click();
    await row.getByText("Editor").waitFor();
    await act("Resend invitation");
    await page.getByText("Invitation to bob@example.com resent").waitFor();
    await act("Revoke invitation");
    await dialog.getByRole("button", { name: "Revoke invitation" }).click();
    await row.waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
  });

  test("the link of an invitation opens a session with the role, and works only once", async () => {
    const [editor] = (
      await dashboard.call<{ id: string; name: string }[]>("GET", `/accounts/${dashboard.account}/roles`)
    ).filter(({ name }) => name === "Editor");
    await dashboard.call("POST", `/accounts/${dashboard.account}/members`, {
      email: "carol@example.com",
      roles: [editor!.id],
    });
    const path = await invitationPath(dashboard.server.ready.dataDirectory, "carol@example.com");
    const { page, problems } = await dashboard.open(path, { token: null });
    await page.getByText("carol@example.com").waitFor();
    await checkPage(page, "sign-in-invitation");
    await page.getByRole("button", { name: "Accept invitation" }).click();
    await page.getByRole("button", { name: "Signed in as carol@example.com" }).waitFor();
    assert.deepEqual(problems, []);
    const { page: again } = await dashboard.open(path, { token: null });
    await again.getByText("The invitation cannot be used").waitFor();

    // The role of a member changes for the open session as well.
    const createZone = async () => {
      const secret = await page.evaluate("localStorage.getItem('reelpost.session')");
      const response = await fetch(`${dashboard.api}/zones`, {
        method: "POST",
        headers: { authorization: `Bearer ${String(secret)}`, "content-type": "application/json" },
        body: JSON.stringify({ name: `zone${Date.now()}.example`, account: { id: dashboard.account } }),
      });
      return response.status;
    };
    assert.equal(await createZone(), 200);
    const { page: members } = await dashboard.open("/settings/members");
    await members.getByRole("button", { name: "Actions for carol@example.com" }).click();
    await members.getByRole("menuitem", { name: "Change role" }).click();
    await members.getByRole("dialog").getByLabel("Viewer").check();
    await members.getByRole("dialog").getByRole("button", { name: "Change role" }).click();
    await members.getByRole("row", { name: /carol@example\.com.*Viewer/ }).waitFor();
    assert.equal(await createZone(), 403);
  });

  test("the audit log finds a change and shows the values before and after", async () => {
    const zone = await dashboard.call<{ id: string }>("POST", "/zones", {
      name: "example.org",
      account: { id: dashboard.account },
    });
    const records = `/zones/${zone.id}/dns_records`;
    const record = await dashboard.call<{ id: string }>("POST", records, {
      type: "A",
      name: "www",
      content: "192.0.2.1",
    });
    await dashboard.call("PATCH", `${records}/${record.id}`, { content: "192.0.2.2" });

    const { page, problems } = await dashboard.open("/settings/audit-log");
    await page.getByRole("combobox", { name: "Action" }).click();
    await page.getByRole("option", { name: "Changes" }).click();
    await page.getByLabel("Zone", { exact: true }).fill("example.org");
    const table = page.getByRole("table", { name: "Audit log" });
    await page.waitForURL(/zone=example\.org/);
    await table.getByRole("row", { name: /example\.org/ }).waitFor();
    await checkPage(page, "settings-audit-log");
    await table.getByRole("button").first().click();
    const changes = page.getByRole("region", { name: "Changes" });
    await changes.getByText('"content": "192.0.2.1",').waitFor();
    await changes.getByText('"content": "192.0.2.2",').waitFor();
    await checkPage(page, "settings-audit-entry");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Clear filters" }).click();
    await table
      .getByRole("row", { name: /192|www|zone/i })
      .first()
      .waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "audit-log.csv");
    assert.deepEqual(problems, []);
  });

  test("the server shows its settings and where they come from", async () => {
    const { page, problems } = await dashboard.open("/settings/server");
    await page.getByText("SQLite", { exact: true }).waitFor();
    const settings = page.getByRole("table", { name: "Settings" });
    await settings.getByRole("row", { name: /api\.rate_limit.*Environment/ }).waitFor();
    await checkPage(page, "settings-server");
    await page.getByLabel("Search settings").fill("rate_limit");
    await page.waitForURL(/setting=rate_limit/);
    await settings.getByRole("row", { name: /data_dir/ }).waitFor({ state: "detached" });
    await settings.getByRole("row", { name: /api\.rate_limit/ }).waitFor();
    assert.deepEqual(problems, []);
  });
});

test("single sign-on at an OpenID Connect provider opens a session", { skip: withoutChromium() }, async (t) => {
  // The provider must know the redirect URI before the dashboard listens.
  const port = await freePort();
  const provider = await startProvider(t, {
    redirectUris: [`http://localhost:${port}/sign-in/callback`],
    users: { ann: { email: EMAIL, email_verified: true }, eve: { email: "eve@example.com", email_verified: true } },
  });
  const dashboard = await startDashboard(t, {
    env: {
      REELPOST_DASHBOARD_PORT: String(port),
      REELPOST_DASHBOARD_OIDC_ISSUER: provider.issuer,
      REELPOST_DASHBOARD_OIDC_CLIENT_ID: CLIENT.id,
      REELPOST_DASHBOARD_OIDC_CLIENT_SECRET: CLIENT.secret,
    },
  });
  const signIn = async (user: string) => {
    const { page, context } = await dashboard.open("/dns", { token: null });
    // The pages of the provider load a font from another host.
    await context.route(
      ({ hostname }) => !["localhost", "127.0.0.1"].includes(hostname),
      (route) => route.abort(),
    );
    await page.getByRole("button", { name: "Use single sign-on" }).click();
    await page.locator("input[name=login]").fill(user);
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    // Consent.
    await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
    await page.locator("button[type=submit]").click();
    return page;
  };
  const page = await signIn("ann");
  await page.getByRole("button", { name: `Signed in as ${EMAIL}` }).waitFor();
  assert.equal(new URL(page.url()).search, "");

  const refused = await signIn("eve");
  await refused.getByText("The sign-in failed").waitFor();
  await checkPage(refused, "sign-in-refused");
  await refused.getByRole("link", { name: "Sign in again" }).click();
  await refused.getByLabel("Email").waitFor();
});

/** Resolves with the path of the link in the message, which the server writes to a file. */
async function invitationPath(dataDirectory: string, email: string): Promise<string> {
  const folder = join(dataDirectory, "mail");
  return until(async () => {
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".eml"));
    const messages = await Promise.all(names.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))));
    const message = messages.find(({ to }) => to?.some(({ address }) => address === email));
    return /\/sign-in#invite=[\w-]+/.exec(message?.text ?? "")?.[0];
  }, "the invitation");
}
