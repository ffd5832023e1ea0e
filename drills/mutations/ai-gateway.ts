import type { Mutation } from "./mutation.ts";

const HTTP_TEST = "src/workers/ai/gateway/http.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/ai/gateway/proxy.ts",
    from: "if (!isAuthenticated && (request.provider === WORKERS_AI || !request.hasOwnKey))",
    to: "if (!isAuthenticated && !request.hasOwnKey)",
    test: HTTP_TEST,
  },
  {
    file: "src/workers/ai/gateway/http.ts",
    from: 'if (isToken) headers.delete("authorization");',
    to: "",
    test: HTTP_TEST,
  },
  {
    file: "src/workers/ai/gateway/step.ts",
    from: 'if (href.startsWith(`${new URL(base).href.replace(/\\/+$/, "")}/`)) return href;',
    to: "if (href !== base) return href;",
    test: HTTP_TEST,
  },
  {
    file: "src/workers/ai/gateway/gateways.ts",
    from: "if (settings.cacheInvalidateOnUpdate) await responses.clear(account, id);",
    to: "",
    test: "src/workers/ai/gateway/gateways.test.ts",
  },
  {
    file: "src/workers/ai/gateway/logs-table.ts",
    from: 'if (excess > 0 && atLimit === "drop") return;',
    to: "",
    test: "src/workers/ai/gateway/gateways.test.ts",
  },
];
