import { oneLine } from "../../kernel/text.ts";
import { connectToApi, type ApiConnection } from "../api/connect.ts";
import { collectItems, pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { formatUtcTime, printResult, table } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

/** The roles by the first word of their names on the server. */
const ROLES = ["administrator", "editor", "viewer"] as const;
const roleOption = { type: "string", choices: ROLES, summary: "what the member may do" } as const;
const memberArgument = { name: "member", summary: "email address or id of the member", required: true } as const;

interface Role {
  id: string;
  name: string;
}
interface Member {
  id: string;
  status: string;
  roles: Role[];
  user: { email: string; first_name: string | null; last_name: string | null };
  invitation?: { invited_by: string; expires_on: string };
}

const membersOf = ({ api, base }: ApiConnection) =>
  collectItems(pagesOf<Member>(api, `${base}/members`, { perPage: 1000 }));

/** Resolves with the id of a role, whose name on the server contains the word. */
async function roleId({ api, base }: ApiConnection, word: (typeof ROLES)[number]): Promise<string> {
  const roles = await api.result<Role[]>("GET", `${base}/roles`);
  const role = roles.find(({ name }) => name.toLowerCase().split(/\W+/).includes(word));
  if (role === undefined)
    throw commandErrors.badContent({
      what: `--role ${word}`,
      reason: "the server has no such role",
      fix: `Its roles are: ${roles.map(({ name }) => name).join(", ")}`,
    });
  return role.id;
}

async function findMember(connection: ApiConnection, text: string): Promise<Member> {
  const members = await membersOf(connection);
  const member = members.find(({ id, user }) => id === text || user.email.toLowerCase() === text.toLowerCase());
  if (member === undefined)
    throw commandErrors.badContent({
      what: text,
      reason: "the account has no such member",
      fix: "List the members with `reelpost members list`",
    });
  return member;
}

const roleNameOf = ({ roles }: Member) => roles.map(({ name }) => name).join(", ");

const membersList = defineCommand({
  name: "members list",
  summary: "list the members of the account and pending invitations",
  options: serverOptions,
  examples: [["reelpost members list", "with their roles"]],
  async run(values, _, context) {
    const members = await membersOf(await connectToApi(values, context));
    printResult(context, members, (paint) =>
      table(
        ["id", "email", "role", "status", "invitation expires"],
        members.map((member) => [
          member.id,
          member.user.email,
          roleNameOf(member),
          member.status,
          formatUtcTime(member.invitation?.expires_on),
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const membersInvite = defineCommand({
  name: "members invite",
  summary: "invite a user to the account by email",
  description: "For a pending invitation, sends the email again. The link in the email is valid for seven days.",
  arguments: [{ name: "email", summary: "email address of the user", required: true }],
  options: { role: { ...roleOption, defaultText: "viewer" }, ...serverOptions },
  examples: [
    ["reelpost members invite bob@example.com", "as a viewer"],
    ["reelpost members invite bob@example.com --role editor", "who may change everything but members and tokens"],
  ],
  async run({ role, ...values }, [email], context) {
    const connection = await connectToApi(values, context);
    const { api, base } = connection;
    const pending = (await membersOf(connection)).find(
      ({ user, status }) => status === "pending" && user.email.toLowerCase() === email!.toLowerCase(),
    );
    const sent =
      pending === undefined
        ? await api.result<Member>("POST", `${base}/members`, {
            json: { email, roles: [await roleId(connection, role ?? "viewer")] },
          })
        : await resend(pending);
    printResult(context, sent, () => [
      `Invited ${sent.user.email} as ${roleNameOf(sent)}, until ${formatUtcTime(sent.invitation?.expires_on)}`,
    ]);
    return 0;

    async function resend(member: Member): Promise<Member> {
      if (role !== undefined)
        await api.result("PUT", `${base}/members${at`/${member.id}`}`, {
          json: { roles: [{ id: await roleId(connection, role) }] },
        });
      return api.result<Member>("POST", `${base}/members${at`/${member.id}/resend`}`);
    }
  },
});

const membersUpdate = defineCommand({
  name: "members update",
  summary: "change the role of a member",
  arguments: [memberArgument],
  options: { role: roleOption, ...serverOptions },
  examples: [["reelpost members update bob@example.com --role administrator", "takes effect immediately"]],
  async run({ role, ...values }, [text], context) {
    if (role === undefined)
      throw commandErrors.badContent({
        what: "members update",
        reason: "no change is specified",
        fix: `Pass --role with one of ${ROLES.join(", ")}`,
      });
    const connection = await connectToApi(values, context);
    const { id } = await findMember(connection, text!);
    const member = await connection.api.result<Member>("PUT", `${connection.base}/members${at`/${id}`}`, {
      json: { roles: [{ id: await roleId(connection, role) }] },
    });
    printResult(context, member, () => [`${member.user.email} is now ${roleNameOf(member)}`]);
    return 0;
  },
});

const membersRemove = defineCommand({
  name: "members remove",
  summary: "remove a member from the account, or cancel an invitation",
  arguments: [memberArgument],
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost members remove bob@example.com --yes", "their tokens and sessions lose access immediately"]],
  async run({ yes, ...values }, [text], context) {
    const connection = await connectToApi(values, context);
    const { id, user, status } = await findMember(connection, text!);
    const question =
      status === "pending" ? `Cancel the invitation of ${user.email}?` : `Remove ${user.email} from the account?`;
    await confirm(question, yes, context);
    await connection.api.result("DELETE", `${connection.base}/members${at`/${id}`}`);
    printResult(context, { id, removed: true }, () => [`Removed ${user.email}`]);
    return 0;
  },
});

interface Account {
  name: string;
  settings: { enforce_twofactor: boolean };
}

function printTwoFactor(context: CommandContext, { name, settings }: Account): void {
  const isRequired = settings.enforce_twofactor;
  printResult(context, { required: isRequired }, () => [
    `${oneLine(name)} ${isRequired ? "requires" : "does not require"} two-factor authentication`,
  ]);
}

async function requireTwoFactor({ api, base }: ApiConnection, isRequired: boolean): Promise<Account> {
  // The request must contain the current name, because the API replaces it.
  const { name } = await api.result<Account>("GET", base);
  return api.result<Account>("PUT", base, { json: { name, settings: { enforce_twofactor: isRequired } } });
}

const membersTwoFactorGet = defineCommand({
  name: "members two-factor get",
  summary: "show whether the account requires its members to use two-factor authentication",
  options: serverOptions,
  examples: [["reelpost members two-factor get", "for the account of the token"]],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    printTwoFactor(context, await api.result<Account>("GET", base));
    return 0;
  },
});

const membersTwoFactorEnable = defineCommand({
  name: "members two-factor enable",
  summary: "require members of the account to use two-factor authentication",
  description:
    "A member who signs in with only a password can then do nothing but set up a second factor. API tokens are not affected.",
  options: serverOptions,
  examples: [["reelpost members two-factor enable", "takes effect immediately"]],
  async run(values, _, context) {
    printTwoFactor(context, await requireTwoFactor(await connectToApi(values, context), true));
    return 0;
  },
});

const membersTwoFactorDisable = defineCommand({
  name: "members two-factor disable",
  summary: "stop requiring members of the account to use two-factor authentication",
  options: { ...yesOption, ...serverOptions },
  examples: [["reelpost members two-factor disable --yes", "members keep the second factors that they have set up"]],
  async run({ yes, ...values }, _, context) {
    const connection = await connectToApi(values, context);
    await confirm("Stop requiring two-factor authentication?", yes, context);
    printTwoFactor(context, await requireTwoFactor(connection, false));
    return 0;
  },
});

export const membersCommands: readonly Command[] = [
  membersList,
  membersInvite,
  membersUpdate,
  membersRemove,
  membersTwoFactorGet,
  membersTwoFactorEnable,
  membersTwoFactorDisable,
];
