import assert from "node:assert/strict";
import { test } from "node:test";
import { codeAt } from "../../src/accounts/sign-in/sign-in.testing.ts";
import { withoutChromium } from "../support/browser.ts";
import { addVirtualAuthenticator, enterPassword, heading, PASSWORD, signOut } from "./sign-in-steps.ts";
import { checkPage, startDashboard } from "./support.ts";

test("a member without a second factor can only set one up", { skip: withoutChromium() }, async (t) => {
  const dashboard = await startDashboard(t);
  const { pathname, hash } = new URL(dashboard.server.ready.signInLink!);
  const { page, problems } = await dashboard.open(`${pathname}${hash}`, { token: null });
  await heading(page, "Home").waitFor();
  const dialog = page.getByRole("dialog");
  const warning = page.getByText("An account that you are a member of requires two-factor authentication.");
  const go = (label: string) => page.getByRole("navigation").getByRole("link", { name: label, exact: true }).click();

  await page.goto(`${dashboard.origin}/settings/members`);
  await page.getByRole("table", { name: "Members" }).waitFor();
  await checkPage(page, "settings-members-two-factor");
  const requirement = page.getByRole("switch", { name: "Require two-factor authentication" });
  await requirement.click({ force: true });
  await page.getByText("Setting saved").waitFor();
  // The switch is disabled until the page has loaded the account again, which the guard of the pages reads.
  await requirement.and(page.locator(":checked:enabled")).waitFor({ state: "attached" });
  await go("DNS");
  await heading(page, "Your account").waitFor();
  await warning.waitFor();
  await checkPage(page, "settings-second-factor-required");
  await go("DNS");
  await warning.waitFor();

  await page.getByRole("button", { name: "Set password" }).click();
  await dialog.getByLabel("New password", { exact: true }).fill(PASSWORD);
  await dialog.getByLabel("Repeat the new password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Set password" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Change password" }).waitFor();
  await addVirtualAuthenticator(page);
  await page.getByRole("button", { name: "Add passkey" }).click();
  await dialog.getByLabel("Name").fill("Laptop");
  await dialog.getByRole("button", { name: "Add passkey" }).click();
  await page.getByRole("table", { name: "Passkeys" }).waitFor();
  await warning.waitFor();

  // A passkey counts as two factors.
  await signOut(page);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await heading(page, "Your account").waitFor();
  await go("DNS");
  await heading(page, "DNS").waitFor();

  // A password is one factor, until an authenticator app is enrolled.
  await signOut(page);
  await enterPassword(page);
  await heading(page, "Your account").waitFor();
  await warning.waitFor();
  await page.getByRole("button", { name: "Enable two-factor authentication" }).click();
  await dialog.getByRole("button", { name: "Continue" }).click();
  const secret = await dialog.locator("code").first().innerText();
  await dialog.getByLabel("Code from the app").fill(codeAt(secret, Date.now()));
  await dialog.getByRole("button", { name: "Enable" }).click();
  await page.getByRole("button", { name: "I have saved the codes" }).click();
  await warning.waitFor({ state: "detached" });
  await go("DNS");
  await heading(page, "DNS").waitFor();
  // Open pages sent requests that the account no longer permitted.
  assert.deepEqual(
    problems.filter((problem) => !/status of 403/.test(problem)),
    [],
  );
});

test(
  "an older session confirms a change with the password, and one session is revoked",
  { skip: withoutChromium() },
  async (t) => {
    const dashboard = await startDashboard(t);
    const { pathname, hash } = new URL(dashboard.server.ready.signInLink!);
    const { page, problems } = await dashboard.open(`${pathname}${hash}`, { token: null });
    await heading(page, "Home").waitFor();
    const dialog = page.getByRole("dialog");
    await page.goto(`${dashboard.origin}/settings/account`);
    await page.getByRole("button", { name: "Set password" }).click();
    await dialog.getByLabel("New password", { exact: true }).fill(PASSWORD);
    await dialog.getByLabel("Repeat the new password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Set password" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Change password" }).click();
    await dialog.getByLabel("New password", { exact: true }).waitFor();
    assert.equal(await dialog.getByLabel("Current password").count(), 0, "the session is new");
    await page.keyboard.press("Escape");

    await page.clock.setFixedTime(Date.now() + 20 * 60_000);
    await page.reload();
    await page.getByRole("button", { name: "Change password" }).click();
    await dialog.getByLabel("Current password").fill(PASSWORD);
    await checkPage(page, "settings-password-confirmation");
    await dialog.getByLabel("New password", { exact: true }).fill(`${PASSWORD} 2`);
    await dialog.getByLabel("Repeat the new password").fill(`${PASSWORD} 2`);
    const [request] = await Promise.all([
      page.waitForRequest((sent) => sent.method() === "PUT" && sent.url().endsWith("/user/password")),
      dialog.getByRole("button", { name: "Change password" }).click(),
    ]);
    assert.equal((request.postDataJSON() as { current_password: string }).current_password, PASSWORD);
    await dialog.waitFor({ state: "detached" });

    const { page: other } = await dashboard.open("/dns", { token: null });
    await enterPassword(other, `${PASSWORD} 2`);
    await heading(other, "DNS").waitFor();
    await page.reload();
    await page.getByRole("button", { name: /^Revoke the session of/ }).click();
    await dialog.getByRole("button", { name: "Revoke session" }).click();
    await page.getByRole("button", { name: /^Revoke the session of/ }).waitFor({ state: "detached" });
    await other.reload();
    await other.getByText("Your session has ended").waitFor();
    await page.getByRole("table", { name: "Sessions" }).getByText("This session").waitFor();
    assert.deepEqual(problems, []);
  },
);
