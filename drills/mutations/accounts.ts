import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  { file: "src/accounts/first-run.ts", from: "{32,200}", to: "{20,200}", test: "src/accounts/first-run.test.ts" },
  {
    file: "src/accounts/tokens/authenticate.ts",
    from: "if (now < entry.notBefore || now >= entry.expiresAt) return undefined;",
    to: "if (now < entry.notBefore || now > entry.expiresAt + 60_000) return undefined;",
    test: "src/accounts/accounts.test.ts",
  },
  {
    file: "src/accounts/tokens/authenticate.ts",
    from: "if (now < entry.notBefore || now",
    to: "if (now",
    test: "src/accounts/accounts.test.ts",
  },
  {
    file: "src/accounts/tokens/authenticate.ts",
    from: "email === undefined ? entry.onlyWithEmail : entry.emailKey !== emailKey(email)",
    to: "email !== undefined && entry.emailKey !== emailKey(email)",
    test: "src/accounts/accounts.test.ts",
  },
  {
    file: "src/accounts/tokens/tokens.ts",
    from: "if (callerLimits.ip !== null && !isDeepStrictEqual(ip, callerLimits.ip)) throw",
    to: "if (false) throw",
    test: "src/accounts/accounts.test.ts",
  },
  {
    file: "src/accounts/memberships.ts",
    from: "await refuseLast(tx, membership);\n await deleteMembership",
    to: "await deleteMembership",
    test: "src/accounts/accounts.test.ts",
  },
  {
    file: "src/accounts/tokens/grants.ts",
    from: " || denies.some((deny) => mayOverlap(deny.resource, resource))",
    to: "",
    test: "src/accounts/tokens/grants.test.ts",
  },
  {
    file: "src/accounts/tokens/ip-condition.ts",
    from: 'isIP(ip ?? "") !== 0 && (isIncluded',
    to: "(isIncluded",
    test: "src/accounts/tokens/ip-condition.test.ts",
  },
  {
    file: "src/accounts/tokens/ip-condition.ts",
    from: " && isExcluded?.(ip) !== true",
    to: "",
    test: "src/accounts/tokens/ip-condition.test.ts",
  },
  {
    file: "src/accounts/tokens/ip-condition.ts",
    from: "if (blocks.length > MAX_CIDR_BLOCKS)\n      throw",
    to: "if (blocks.length > 10 * MAX_CIDR_BLOCKS) throw",
    test: "src/accounts/tokens/ip-condition.test.ts",
  },
];
