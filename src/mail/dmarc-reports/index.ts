export type { DmarcStatistics, StatisticsRequest } from "./dmarc-statistics.ts";
export type { ReportIntake } from "./report-intake.ts";
export type { DmarcCounts } from "./dmarc-rows-table.ts";
export { reportRowsMigration } from "./report-rows-table.ts";
export { tlsRowsMigration, type TlsCounts } from "./tls-rows-table.ts";
export { dmarcReportsMigration } from "./reports-table.ts";
export { createDmarcReporting, type DmarcReporting, type DmarcReports, type MailAuthRecords } from "./reports.ts";
export { setUpDmarcReporting } from "./setup.ts";
export type { TlsStatistics } from "./tls-statistics.ts";
