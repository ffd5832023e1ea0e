import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/zones/zones.ts",
    from: "if (other.account !== account) throw zoneErrors.othersZone",
    to: "if (false) throw zoneErrors.othersZone",
    test: "src/zones/zones.test.ts",
  },
  {
    file: "src/zones/records/conflicts.ts",
    from: '{ allTypesBut: ["NS", "DS"] }',
    to: '{ allTypesBut: ["NS"] }',
    test: "src/zones/zones.test.ts",
    name: "NS and DS of a delegation",
  },
  {
    file: "src/zones/records/conflicts.ts",
    from: 'type === "DS" ? ["CNAME"] : ["CNAME", "NS"]',
    to: '["CNAME", "NS"]',
    test: "src/zones/zones.test.ts",
    name: "NS and DS of a delegation",
  },
  {
    file: "src/zones/records/conflicts.ts",
    from: "if (await identical()) throw zoneErrors.identical();",
    to: "",
    test: "src/zones/zones.test.ts",
    name: ".",
  },
  {
    file: "src/zones/records/conflicts.ts",
    from: 'if (type === "CNAME") return { types: ["A", "AAAA", "CNAME"] };',
    to: 'if (type === "CNAME") return undefined;',
    test: "src/zones/zones.test.ts",
    name: "NS and DS of a delegation",
  },
  {
    file: "src/zones/dns/answer.ts",
    from: "rcode, authoritative: true, answer: []",
    to: "rcode, authoritative: false, answer: []",
    test: "src/zones/dns/answer.test.ts",
  },
  {
    file: "src/zones/dns/answer.ts",
    from: "Math.min(SOA_TIMES.ttl, SOA_TIMES.minimum)",
    to: "SOA_TIMES.ttl",
    test: "src/zones/dns/answer.test.ts",
  },
];
