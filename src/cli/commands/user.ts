import { connectUser } from "../api/connect.ts";
import { at } from "../api/paths.ts";
import { askHidden, canAsk, confirm } from "../ask.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { readStdin } from "../input.ts";
import { nameValueLines, formatUtcTime, printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const codeOption = {
  code: {
    type: "string",
    placeholder: "code",
    summary: "one-time code or recovery code, if two-factor authentication is enabled",
  },
} as const;

const MAX_PASSWORD_BYTES = 4096;

/**
 * Asks for passwords on a terminal; otherwise reads one per line from standard input. A token alone cannot change how
 * its user signs in, so all of these commands ask for the current password.
 */
async function readPasswords(questions: readonly string[], context: CommandContext): Promise<string[]> {
  if (canAsk(context)) {
    const passwords: string[] = [];
    for (const question of questions) passwords.push(await askHidden(`${question}: `, context));
    return passwords;
  }
  const lines = (await readStdin(context, MAX_PASSWORD_BYTES)).toString().split(/\r?\n/);
  if (lines.length < questions.length || lines[questions.length - 1] === "")
    throw commandErrors.badContent({
      what: "standard input",
      reason: `it needs ${questions.length === 1 ? "one line" : `${questions.length} lines`}: ${questions.join(", ")}`,
      fix: "Run the command in a terminal, or write one value per line",
    });
  return lines.slice(0, questions.length);
}

const CURRENT = "Current password";

const passwordSet = defineCommand({
  name: "user password",
  summary: "change your dashboard password",
  description: `Prompts for the current and the new password, or reads them from standard input, one per line. All dashboard sessions end. The first password is
set in the dashboard: \`reelpost sign-in-link\` on the server prints a link.`,
  options: { ...codeOption, ...serverOptions },
  examples: [["reelpost user password", "prompts for both passwords"]],
  async run({ code, ...values }, _, context) {
    const { api } = await connectUser(values, context);
    const [current, next] = await readPasswords([CURRENT, "New password"], context);
    const result = await api.result("PUT", "/user/password", {
      json: { new_password: next, current_password: current, ...(code !== undefined && { code }) },
    });
    printResult(context, result, () => ["Changed the password and ended all dashboard sessions"]);
    return 0;
  },
});

const twoFactorStatus = defineCommand({
  name: "user two-factor status",
  summary: "show whether two-factor authentication is enabled",
  options: serverOptions,
  examples: [["reelpost user two-factor status", "with the number of unused recovery codes"]],
  async run(values, _, context) {
    const { api } = await connectUser(values, context);
    const status = await api.result<{ enabled: boolean; recovery_codes: number }>("GET", "/user/two_factor");
    printResult(context, status, (paint) =>
      nameValueLines(
        [
          ["two-factor authentication", status.enabled ? "enabled" : "disabled"],
          ["recovery codes", status.enabled ? String(status.recovery_codes) : undefined],
        ],
        paint,
      ),
    );
    return 0;
  },
});

const twoFactorEnroll = defineCommand({
  name: "user two-factor enroll",
  summary: "create a secret for an authenticator app",
  options: serverOptions,
  examples: [["reelpost user two-factor enroll", "then confirm it with a code of the app"]],
  async run(values, _, context) {
    const { api } = await connectUser(values, context);
    const [current] = await readPasswords([CURRENT], context);
    const enrolled = await api.result<{ secret: string; uri: string }>("POST", "/user/two_factor", {
      json: { current_password: current },
    });
    printResult(context, enrolled, (paint) => [
      ...nameValueLines(
        [
          ["secret", enrolled.secret],
          ["uri", enrolled.uri],
        ],
        paint,
      ),
      "Enter it in the app, then: reelpost user two-factor confirm <code>",
    ]);
    return 0;
  },
});

const twoFactorConfirm = defineCommand({
  name: "user two-factor confirm",
  summary: "enable two-factor authentication",
  arguments: [{ name: "code", summary: "the current code of the app", required: true }],
  options: serverOptions,
  examples: [["reelpost user two-factor confirm 123456", "prints recovery codes once"]],
  async run(values, [code], context) {
    const { api } = await connectUser(values, context);
    const result = await api.result<{ recovery_codes: string[] }>("POST", "/user/two_factor/confirm", {
      json: { code },
    });
    printResult(context, result, () => result.recovery_codes);
    if (!context.json) context.stderr.line("Recovery codes, each for one sign-in without the app. Store them safely.");
    return 0;
  },
});

const twoFactorCodes = defineCommand({
  name: "user two-factor recovery-codes",
  summary: "replace your recovery codes",
  options: { ...codeOption, ...serverOptions },
  examples: [["reelpost user two-factor recovery-codes --code 123456", "the old codes become invalid"]],
  async run({ code, ...values }, _, context) {
    const { api } = await connectUser(values, context);
    const [current] = await readPasswords([CURRENT], context);
    const result = await api.result<{ recovery_codes: string[] }>("POST", "/user/two_factor/recovery_codes", {
      json: { current_password: current, ...(code !== undefined && { code }) },
    });
    printResult(context, result, () => result.recovery_codes);
    return 0;
  },
});

const twoFactorDisable = defineCommand({
  name: "user two-factor disable",
  summary: "disable two-factor authentication",
  options: { ...codeOption, ...yesOption, ...serverOptions },
  examples: [["reelpost user two-factor disable --code 123456 --yes", "also with a recovery code"]],
  async run({ code, yes, ...values }, _, context) {
    const { api } = await connectUser(values, context);
    await confirm("Disable two-factor authentication?", yes, context);
    const [current] = await readPasswords([CURRENT], context);
    const result = await api.result("DELETE", "/user/two_factor", {
      json: { current_password: current, ...(code !== undefined && { code }) },
    });
    printResult(context, result, () => ["Disabled two-factor authentication"]);
    return 0;
  },
});

interface Passkey {
  id: string;
  name: string;
  host: string;
  synced: boolean;
  created_on: string;
  last_used_on: string | null;
}

const passkeysList = defineCommand({
  name: "user passkeys list",
  summary: "list your passkeys",
  options: serverOptions,
  examples: [["reelpost user passkeys list", "new ones are registered in the dashboard"]],
  async run(values, _, context) {
    const { api } = await connectUser(values, context);
    const passkeys = await api.result<Passkey[]>("GET", "/user/passkeys");
    printResult(context, passkeys, (paint) =>
      table(
        ["id", "name", "host", "created", "last used"],
        passkeys.map((passkey) => [
          passkey.id,
          passkey.name,
          passkey.host,
          formatUtcTime(passkey.created_on),
          formatUtcTime(passkey.last_used_on ?? undefined),
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const passkeysRename = defineCommand({
  name: "user passkeys rename",
  summary: "rename a passkey",
  arguments: [
    { name: "id", summary: "id from `user passkeys list`", required: true },
    { name: "name", summary: "new name", required: true },
  ],
  options: serverOptions,
  examples: [["reelpost user passkeys rename ed17574386854bf78a67040be0a770b0 laptop", "shown in the dashboard"]],
  async run(values, [id, name], context) {
    const { api } = await connectUser(values, context);
    const passkey = await api.result<Passkey>("PATCH", `/user/passkeys${at`/${id!}`}`, { json: { name } });
    printResult(context, passkey, () => [`Renamed ${id} to ${name}`]);
    return 0;
  },
});

const passkeysDelete = defineCommand({
  name: "user passkeys delete",
  summary: "delete a passkey",
  arguments: [{ name: "id", summary: "id from `user passkeys list`", required: true }],
  options: { ...codeOption, ...yesOption, ...serverOptions },
  examples: [
    ["reelpost user passkeys delete ed17574386854bf78a67040be0a770b0 --yes", "the device can no longer sign in"],
  ],
  async run({ code, yes, ...values }, [id], context) {
    const { api } = await connectUser(values, context);
    await confirm(`Delete the passkey ${id}?`, yes, context);
    const [current] = await readPasswords([CURRENT], context);
    await api.result("DELETE", `/user/passkeys${at`/${id!}`}`, {
      json: { current_password: current, ...(code !== undefined && { code }) },
    });
    printResult(context, { id, deleted: true }, () => [`Deleted ${id}`]);
    return 0;
  },
});

export const userCommands: readonly Command[] = [
  passwordSet,
  twoFactorStatus,
  twoFactorEnroll,
  twoFactorConfirm,
  twoFactorCodes,
  twoFactorDisable,
  passkeysList,
  passkeysRename,
  passkeysDelete,
];
