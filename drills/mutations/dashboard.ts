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
  {
    file: "src/server/front-page.ts",
    from: "if (isLoopback(host)) return undefined;",
    to: "if (isLoopback(host)) return url;",
    test: "src/server/front-page.test.ts",
  },
  {
    file: "src/dashboard/docs/build/render-page.ts",
    from: "html: false",
    to: "html: true",
    test: "src/dashboard/docs/build/build-docs.test.ts",
  },
  {
    file: "src/dashboard/docs/build/render-page.ts",
    from: "const hash = anchor ?? section;",
    to: "const hash = anchor;",
    test: "src/dashboard/docs/build/build-docs.test.ts",
  },
  {
    file: "src/dashboard/docs/answer-docs.ts",
    from: `"script-src 'self'"`,
    to: `"script-src 'self' 'unsafe-inline'"`,
    test: "src/dashboard/dashboard.test.ts",
  },
  {
    file: "src/dashboard/dashboard.ts",
    from: "...((await isSignedIn(request)) && { version }),",
    to: "version,",
    test: "src/dashboard/dashboard.test.ts",
    name: "only to signed-in requests",
  },
  {
    file: "web/dashboard/areas/stream/upload/chunk-size.ts",
    from: "Math.min(MAX_BYTES, limit, Math.max(MIN_BYTES, bytes))",
    to: "Math.min(MAX_BYTES, Math.max(MIN_BYTES, bytes))",
    test: "web/dashboard/areas/stream/upload/chunk-size.test.ts",
  },
];
