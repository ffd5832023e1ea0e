import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/dashboard/origin.ts",
    from: 'if (!hosts.isConfigured(name) && name !== "localhost" && isIP(name) === 0)',
    to: 'if (!hosts.isConfigured(name) && !name.startsWith("localhost") && isIP(name) === 0)',
    test: "src/dashboard/origin.test.ts",
  },
  {
    file: "src/dashboard/origin.ts",
    from: "URL.parse(headers.origin)?.host !== (headers.host",
    to: "URL.parse(headers.origin)?.host === (headers.host",
    test: "src/dashboard/origin.test.ts",
  },
  {
    file: "src/dashboard/origin.ts",
    from: 'headers["sec-fetch-dest"] === "document"',
    to: "true",
    test: "src/dashboard/origin.test.ts",
  },
  {
    file: "src/dashboard/headers.ts",
    from: `"form-action 'none'",\n "frame-ancestors 'none'"`,
    to: `"form-action 'none'"`,
    test: "src/dashboard/dashboard.test.ts",
  },
  {
    file: "src/dashboard/dashboard.ts",
    from: "if (refusal !== undefined || api.upgrade?.(request, socket, head) !== true)",
    to: "if (api.upgrade?.(request, socket, head) !== true)",
    test: "src/dashboard/dashboard.test.ts",
  },
  {
    file: "src/server/serve-dashboard.ts",
    from: ".toLowerCase() === host.toLowerCase()) ?? [];",
    to: " === host) ?? [];",
    test: "src/server/serve-dashboard.test.ts",
  },
];
