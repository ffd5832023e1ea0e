import type { Mutation } from "./mutation.ts";

const FILE_TEST = "src/mail/dmarc-reports/report-file.test.ts";
const INTAKE_TEST = "src/mail/dmarc-reports/report-intake.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/mail/dmarc-reports/report-file.ts",
    from: "MAX_REPORT_BYTES = 4 * 1024 * 1024",
    to: "MAX_REPORT_BYTES = 64 * 1024 * 1024",
    test: FILE_TEST,
    name: "4 MiB",
  },
  {
    file: "src/mail/dmarc-reports/aggregate.ts",
    from: "maxNestedTags: MAX_DEPTH",
    to: "maxNestedTags: 1000",
    test: FILE_TEST,
    name: "deep nesting",
  },
  {
    file: "src/mail/dmarc-reports/aggregate.ts",
    from: "if (/<!(?:DOCTYPE|ENTITY)/i.test(xml))",
    to: "if (false)",
    test: FILE_TEST,
    name: "document types",
  },
  {
    file: "src/mail/dmarc-reports/report-intake.ts",
    from: "if (verdict === undefined || !isAuthorAuthenticated(envelope, verdict)) return undefined;",
    to: "if (verdict === undefined) return undefined;",
    test: INTAKE_TEST,
    name: "unauthenticated senders",
  },
  {
    file: "src/mail/dmarc-reports/report-intake.ts",
    from: "!domain.endsWith(`.${name}`)",
    to: "!domain.endsWith(name)",
    test: INTAKE_TEST,
    name: "other domains",
  },
  {
    file: "src/mail/dmarc-reports/report-intake.ts",
    from: "JSON.stringify([sender, orgName, reportId])",
    to: "JSON.stringify([orgName, reportId])",
    test: INTAKE_TEST,
    name: "count once",
  },
  {
    file: "src/mail/dmarc-reports/received-table.ts",
    from: "(rows += count) > rowsPerZone",
    to: "(rows += count) > 10 * rowsPerZone",
    test: INTAKE_TEST,
    name: "are limited per sender",
  },
  {
    file: "src/mail/dmarc-reports/tls-rows-table.ts",
    from: 'tlsRows(filter).where("result_type", "=", "")',
    to: 'tlsRows(filter).where("result_type", "!=", "")',
    test: INTAKE_TEST,
    name: "about TLS",
  },
  {
    file: "src/mail/mta-sts/published.ts",
    from: "return names.filter((_, index) => freeFlags[index]).map",
    to: "return names.map",
    test: "src/mail/mta-sts/published.test.ts",
  },
];
