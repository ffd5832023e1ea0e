import type { Page } from "playwright-core";

/** Sign-in and sign-out steps that several tests share. */

export const EMAIL = "admin@reelpost.internal";
export const PASSWORD = "correct horse battery staple";

export const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });

export async function signOut(page: Page) {
  await page.getByRole("button", { name: /^Signed in as/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL(/\/sign-in/);
  await page.getByLabel("Email").waitFor();
}

export async function enterPassword(page: Page, password = PASSWORD) {
  await page.getByLabel("Email").fill(EMAIL);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Adds an authenticator that responds like a laptop with a fingerprint reader. */
export async function addVirtualAuthenticator(page: Page) {
  const debuggerSession = await page.context().newCDPSession(page);
  await debuggerSession.send("WebAuthn.enable");
  await debuggerSession.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
