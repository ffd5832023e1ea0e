import type { Migration } from "../store/index.ts";
import { activityMigrations } from "./activity/entries-table.ts";
import { addressesMigration } from "./addresses/addresses-table.ts";
import { dkimMigration, dkimStateMigration } from "./dkim-keys/keys-table.ts";
import { outboundMigrations } from "./outbound/migrations.ts";
import { bouncesMigrations } from "./bounces/bounces-table.ts";
import { reportRowsMigration, tlsRowsMigration } from "./dmarc-reports/report-rows-table.ts";
import { dmarcReportsMigration } from "./dmarc-reports/reports-table.ts";
import { routingDestinationsMigration, routingMigration } from "./routing/tables.ts";
import { sendingMigration } from "./sending/domains-table.ts";
import { suppressionsMigration } from "./suppressions/suppressions-table.ts";
import { tlsReportsMigration } from "./tls-reports/results-table.ts";

export const mailMigrations: Migration[] = [
  dkimMigration,
  routingMigration,
  addressesMigration,
  dkimStateMigration,
  dmarcReportsMigration,
  ...outboundMigrations,
  ...bouncesMigrations,
  sendingMigration,
  suppressionsMigration,
  ...activityMigrations,
  routingDestinationsMigration,
  reportRowsMigration,
  tlsRowsMigration,
  tlsReportsMigration,
];
