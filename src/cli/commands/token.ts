import { nearestName } from "../../kernel/config/index.ts";
import { connectToApi, connectUser } from "../api/connect.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { nameValueLines, formatUtcTime, printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";
import { policiesFor, type ApiPermissionGroup } from "../token-policies.ts";

/** Permissions for `deploy`, `secret`, `tail` and the storage commands. */
const DEPLOY_PERMISSIONS = [
  "Account Settings Read",
  "Workers Scripts Write",
  "Workers Tail Read",
  "Workers KV Storage Write",
  "Workers R2 Storage Write",
  "D1 Write",
];

const tokenCreate = defineCommand({
  name: "token create",
  summary: "create an API token",
  description: `The token is shown once. Default permissions are those for deploying: ${DEPLOY_PERMISSIONS.join(", ")}.`,
  arguments: [{ name: "name", summary: "name of the token", required: true }],
  options: {
    permission: {
      type: "string",
      placeholder: "name",
      multiple: true,
      summary: 'permission, for example "Workers Scripts Write"',
    },
    expires: { type: "string", placeholder: "date", summary: "expiration, such as 2027-01-31 or 2027-01-31T12:00:00Z" },
    ...serverOptions,
  },
  examples: [
    ["reelpost token create ci", "for a CI job that deploys"],
    ["reelpost token create reader --permission 'Workers Scripts Read'", "read-only"],
  ],
  async run({ permission, expires, ...values }, [name], context) {
    const expiresOn = expires === undefined ? undefined : parseInstant(expires);
    const { api, account } = await connectToApi(values, context);
    const groups = await collectItems(
      pagesOf<ApiPermissionGroup>(api, "/user/tokens/permission_groups", { perPage: 1000 }),
    );
    const requestedGroups = (permission.length > 0 ? permission : DEPLOY_PERMISSIONS).map((text) =>
      findGroup(text, groups),
    );
    const policies = await policiesFor(requestedGroups, {
      account,
      user: async () => (await api.result<{ id: string }>("GET", "/user")).id,
    });
    const token = await api.result<{ id: string; name: string; value: string; expires_on?: string }>(
      "POST",
      "/user/tokens",
      { json: { name, policies, ...(expiresOn !== undefined && { expires_on: expiresOn }) } },
    );
    printResult(context, token, (paint) =>
      nameValueLines(
        [
          ["token", token.value],
          ["id", token.id],
          ["permissions", requestedGroups.map((group) => group.name).join(", ")],
          ["expires", token.expires_on === undefined ? undefined : formatUtcTime(token.expires_on)],
        ],
        paint,
      ),
    );
    if (!context.json) context.stderr.line("It will not be shown again.");
    return 0;
  },
});

function findGroup(name: string, groups: readonly ApiPermissionGroup[]): ApiPermissionGroup {
  const matchingGroup = groups.find((group) => group.name.toLowerCase() === name.toLowerCase() || group.id === name);
  if (matchingGroup !== undefined) return matchingGroup;
  const names = groups.map((group) => group.name);
  const suggestion = nearestName(name, names);
  throw commandErrors.badContent({
    what: `--permission ${name}`,
    reason: "the server has no such permission",
    fix: suggestion === undefined ? `Use one of: ${names.join(", ")}` : `Did you mean "${suggestion}"?`,
  });
}

function parseInstant(text: string): string {
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw commandErrors.badContent({
      what: `--expires ${text}`,
      reason: "it is not a date",
      fix: "For example: --expires 2027-01-31",
    });
  return new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
}

interface Token {
  id: string;
  name: string;
  status: string;
  issued_on?: string;
  last_used_on?: string;
  expires_on?: string;
}

const tokenList = defineCommand({
  name: "token list",
  summary: "list your API tokens",
  options: serverOptions,
  examples: [["reelpost token list", "without their values"]],
  async run(values, _, context) {
    const { api } = await connectUser(values, context);
    const tokens = await collectItems(pagesOf<Token>(api, "/user/tokens", { perPage: 50 }));
    printResult(context, tokens, (paint) =>
      table(
        ["id", "name", "status", "created", "last used", "expires"],
        tokens.map((token) => [
          token.id,
          token.name,
          token.status,
          formatUtcTime(token.issued_on),
          formatUtcTime(token.last_used_on),
          formatUtcTime(token.expires_on),
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const tokenRevoke = defineCommand({
  name: "token revoke",
  summary: "revoke an API token permanently",
  arguments: [{ name: "id", summary: "id from `token list`", required: true }],
  options: { ...yesOption, ...serverOptions },
  examples: [
    ["reelpost token revoke ed17574386854bf78a67040be0a770b0 --yes", "takes effect immediately on all processes"],
  ],
  async run({ yes, ...values }, [id], context) {
    const { api } = await connectUser(values, context);
    await confirm(`Revoke the API token ${id}? Requests with it are rejected immediately.`, yes, context);
    await api.result("DELETE", `/user/tokens${at`/${id!}`}`);
    printResult(context, { id, revoked: true }, () => [`Revoked ${id}`]);
    return 0;
  },
});

export const tokenCommands: readonly Command[] = [tokenCreate, tokenList, tokenRevoke];
