import { defineCommand } from "../command.ts";
import { nameValueLines, formatUtcTime, printResult } from "../print.ts";
import { serverDataOptions, settingsSource } from "../server-data.ts";

export const signInLink = defineCommand({
  name: "sign-in-link",
  summary: "create a one-time link for signing in to the dashboard",
  description: `For users who have lost access, and for the first sign-in. Run it on the server, as the user that runs \`reelpost serve\`: it needs no token, and the
server may be running. The link is valid for 30 minutes and for one sign-in, and needs no one-time code.`,
  arguments: [{ name: "email", summary: "email address of the user; default: the first user" }],
  options: serverDataOptions,
  examples: [
    ["reelpost sign-in-link", "for the first user"],
    ["reelpost sign-in-link ann@example.com --settings /etc/reelpost/settings.jsonc", "for a member"],
  ],
  async run(values, [email], context) {
    const { cwd, env, clock } = context;
    const { createSignInLink } = await import("../../server/index.ts");
    const link = await createSignInLink({
      cwd,
      env,
      clock,
      ...settingsSource(values),
      ...(email !== undefined && { email }),
    });
    const expires = new Date(link.expiresAt).toISOString();
    printResult(context, { url: link.url, email: link.email, expires_on: expires }, (paint) =>
      nameValueLines(
        [
          ["link", link.url],
          ["user", link.email],
          ["expires", formatUtcTime(expires)],
        ],
        paint,
      ),
    );
    return 0;
  },
});
