export { tlsReportsMigration } from "./results-table.ts";
export { setUpTlsReports } from "./setup.ts";
