import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/kernel/networks.ts",
    from: "version === 0 || prefix > maxPrefix ?",
    to: "version === 0 ?",
    test: "src/kernel/networks.test.ts",
  },
  { file: "src/kernel/networks.ts", from: '"192.168.0.0/16", ', to: "", test: "src/kernel/networks.test.ts" },
  { file: "src/kernel/networks.ts", from: '"fc00::/7", ', to: "", test: "src/kernel/networks.test.ts" },
  { file: "src/kernel/networks.ts", from: '"64:ff9b::/96", ', to: "", test: "src/kernel/guarded-fetch.test.ts" },
  {
    file: "src/kernel/networks.ts",
    from: "groups.slice(0, 4)",
    to: "groups.slice(0, 5)",
    test: "src/kernel/networks.test.ts",
  },
  {
    file: "src/kernel/networks.ts",
    from: 'ip?.replace(/^::ffff:(?=\\d+\\.)/i, "") ?? ""',
    to: 'ip ?? ""',
    test: "src/kernel/networks.test.ts",
  },
  {
    file: "src/kernel/recent.ts",
    from: "cachedValue.until > clock.now()",
    to: "cachedValue.until >= clock.now() - ttlMs",
    test: "src/kernel/recent.test.ts",
  },
  {
    file: "src/kernel/recent.ts",
    from: "if (readings.get(key) !== reading) return value;",
    to: "",
    test: "src/kernel/recent.test.ts",
  },
  {
    file: "src/kernel/recent.ts",
    from: "if (values.size >= max) values.delete",
    to: "if (values.size >= max * 2) values.delete",
    test: "src/kernel/recent.test.ts",
  },
  { file: "src/kernel/recent.ts", from: "      readings.clear();\n", to: "", test: "src/kernel/recent.test.ts" },
  {
    file: "src/kernel/guarded-fetch.ts",
    from: "usable.slice(0, 8)",
    to: "found.slice(0, 8)",
    test: "src/kernel/guarded-fetch.test.ts",
  },
  {
    file: "src/kernel/guarded-fetch.ts",
    from: "|| isNonPublicAddress(address)",
    to: "",
    test: "src/kernel/guarded-fetch.test.ts",
  },
  {
    file: "src/kernel/guarded-fetch.ts",
    from: "if (next.origin !== url.origin) activeRequest.headers",
    to: "if (next.origin === url.origin) activeRequest.headers",
    test: "src/kernel/guarded-fetch.test.ts",
  },
  {
    file: "src/kernel/guarded-fetch.ts",
    from: "if (redirectCount >= redirects) throw",
    to: "if (redirectCount > redirects) throw",
    test: "src/kernel/guarded-fetch.test.ts",
  },
  {
    file: "src/kernel/guarded-fetch.ts",
    from: 'if (url.port === "25")',
    to: 'if (url.port === "26")',
    test: "src/kernel/guarded-fetch.test.ts",
  },
  {
    file: "src/kernel/guarded-fetch.ts",
    from: 'if (url.username !== "" || url.password !== "")',
    to: 'if (url.username === "*")',
    test: "src/kernel/guarded-fetch.test.ts",
  },
  {
    file: "src/kernel/config/nearest.ts",
    from: "Math.floor(normalizedInput.length / 3)",
    to: "Math.floor(normalizedInput.length / 2)",
    test: "src/kernel/config/nearest.test.ts",
  },
  {
    file: "src/kernel/config/nearest.ts",
    from: "if (edits < leastEdits) [best",
    to: "if (edits <= leastEdits) [best",
    test: "src/kernel/config/nearest.test.ts",
  },
];
