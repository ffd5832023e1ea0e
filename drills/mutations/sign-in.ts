import type { Mutation } from "./mutation.ts";

const test = "src/accounts/accounts.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/accounts/sign-in/sign-in-table.ts",
    from: '.where("last_step", "<", step)',
    to: '.where("last_step", "<=", step)',
    test,
    name: "asks for a code after the password",
  },
  {
    file: "src/accounts/sign-in/passwords.ts",
    from: "const isRight = await hasher.verify(password, stored?.hash);",
    to: "const isRight = stored !== undefined && (await hasher.verify(password, stored.hash));",
    test,
    name: "give the same result after the same work",
  },
  {
    file: "src/accounts/sign-in/passkeys.ts",
    from: "if (!isFirst || user === undefined)",
    to: "if (user === undefined)",
    test,
    name: "accept each challenge once",
  },
  {
    file: "src/accounts/sign-in/confirmation.ts",
    from: "if (isSession || !(await codes.isEnabled(by.user.id))) return;",
    to: "return;",
    test,
    name: "need the password, and a code if enabled",
  },
  {
    file: "src/accounts/sign-in/oidc.ts",
    from: 'if (isVerified !== true && isVerified !== "true")',
    to: "if (isVerified === undefined)",
    test: "src/accounts/sign-in/oidc.test.ts",
    name: "users without a verified address",
  },
  {
    file: "src/accounts/sessions/sessions.ts",
    from: "for (const id of ended) onEnded(id);",
    to: "",
    test,
    name: "stop working in every process when they are revoked",
  },
  {
    file: "src/accounts/tokens/authenticate.ts",
    from: '("user" in on || roleAllows(memberships.get(on.account)!, permission))',
    to: "true",
    test,
    name: "limit the tokens of the member",
  },
];
