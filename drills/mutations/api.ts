import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/kernel/quota.ts",
    from: "if (period.count >= limit) return",
    to: "if (period.count > limit) return",
    test: "src/api/rate-limit.test.ts",
  },
  {
    file: "src/kernel/quota.ts",
    from: "period === undefined || period.until <= now) {",
    to: "period === undefined || period.until < now) {",
    test: "src/api/rate-limit.test.ts",
  },
  {
    file: "src/kernel/quota.ts",
    from: "Math.ceil((period.until - now) / 1000)",
    to: "Math.floor((period.until - now) / 1000)",
    test: "src/api/rate-limit.test.ts",
  },
  {
    file: "src/kernel/client-address.ts",
    from: "hops.findLast((hop) => !isTrusted(hop))",
    to: "hops.find((hop) => !isTrusted(hop))",
    test: "src/kernel/client-address.test.ts",
  },
  {
    file: "src/kernel/client-address.ts",
    from: "trusted.length === 0 || !isTrusted(peer)",
    to: "trusted.length === 0",
    test: "src/kernel/client-address.test.ts",
  },
  {
    file: "src/kernel/client-address.ts",
    from: "return isTrusted(toPlainAddress(request.socket.remoteAddress)) && request",
    to: "return request",
    test: "src/kernel/client-address.test.ts",
  },
  {
    file: "src/api/json-shape.ts",
    from: "if (++depth > MAX_DEPTH) throw",
    to: "if (++depth > 10 * MAX_DEPTH) throw",
    test: "src/api/json-shape.test.ts",
  },
  {
    file: "src/api/json-shape.ts",
    from: "if ((end - before) % 2 === 1) return end;",
    to: "return end;",
    test: "src/api/json-shape.test.ts",
  },
  {
    file: "src/api/json-shape.ts",
    from: "if (values > maxValues) throw",
    to: "if (values > maxValues + 1) throw",
    test: "src/api/json-shape.test.ts",
  },
  {
    file: "src/api/read-cache.ts",
    from: "if (entry.version !== version) return void forget(url, entry);",
    to: "",
    test: "src/api/read-cache.test.ts",
  },
  {
    file: "src/api/read-cache.ts",
    from: "if (octets > maxOctets) evict();",
    to: "",
    test: "src/api/read-cache.test.ts",
  },
  {
    file: "src/api/authorize.ts",
    from: "if (!(await accessControl.accountExists(account))) throw",
    to: "if (false) throw",
    test: "src/api/app.test.ts",
  },
  {
    file: "src/api/body.ts",
    from: "if (size > limit) throw apiErrors",
    to: "if (size > limit + 1) throw apiErrors",
    test: "src/api/body-bound.test.ts",
  },
  {
    file: "src/api/hidden-zones.ts",
    from: "filter((zone) => !readers",
    to: "filter((zone) => readers",
    test: "src/api/routes/zones.test.ts",
  },
  {
    file: "src/api/routes/graphql/viewer.ts",
    from: "if (!dataset.permissions.some((permission) => caller.allows(permission, resource))) throw",
    to: "if (false) throw",
    test: "src/api/routes/graphql/permissions.test.ts",
  },
  {
    file: "src/api/routes/graphql/filter.ts",
    from: "(Math.floor(value / step) + 1) * step",
    to: "Math.floor(value / step) * step",
    test: "src/api/routes/graphql/email-filter.test.ts",
  },
  {
    file: "src/api/tail-socket.ts",
    from: "length < 126 ?",
    to: "length < 2 ?",
    test: "src/api/tail-socket.test.ts",
  },
  {
    file: "src/api/tail-socket.ts",
    from: 'if (headers["sec-websocket-version"] !== "13")',
    to: 'if (headers["sec-websocket-version"] === undefined)',
    test: "src/api/tail-socket.test.ts",
  },
  {
    file: "src/api/tail-socket.ts",
    from: "offered.has(PROTOCOL) && PROTOCOL",
    to: "PROTOCOL",
    test: "src/api/tail-socket.test.ts",
  },
];
