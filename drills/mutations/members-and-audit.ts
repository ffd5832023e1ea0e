import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/accounts/members/members.ts",
    from: 'if (status === "accepted" && role === "administrator" && !(await',
    to: "if (false && !(await",
    test: "src/accounts/accounts.test.ts",
    name: "always leave an administrator in the account",
  },
  {
    file: "src/accounts/members/members.ts",
    from: "requireRole(by, account, role);\n      const member = await transaction",
    to: "const member = await transaction",
    test: "src/accounts/accounts.test.ts",
    name: "get no role with more permissions than the caller's token",
  },
  {
    file: "src/accounts/members/members.ts",
    from: "invitation === undefined || clock.now() >= row.expiresAt",
    to: "invitation === undefined",
    test: "src/accounts/accounts.test.ts",
    name: "cannot join after seven days",
  },
  {
    file: "src/accounts/audit/audit-table.ts",
    from: "owner, before_json: null, after_json: null",
    to: "owner",
    test: "src/accounts/audit/audit-log.test.ts",
    name: "without its values",
  },
  {
    file: "src/api/change-recorder.ts",
    from: "before: redact(before, hidden()),",
    to: "before,",
    test: "src/api/change-recorder.test.ts",
  },
  {
    file: "src/api/change-recorder.ts",
    from: "if (response instanceof Response && response.status >= 400) return;",
    to: "",
    test: "src/api/change-recorder.test.ts",
  },
  {
    file: "src/api/app.ts",
    from: "await recordResponse?.(response);",
    to: "void recordResponse?.(response);",
    test: "src/api/change-recorder.test.ts",
  },
];
