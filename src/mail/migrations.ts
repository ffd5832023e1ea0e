import type { Migration } from "../store/index.ts";
import { activityMigrations } from "./activity/index.ts";
import { addressesMigration } from "./addresses/index.ts";
import { dkimMigration, dkimStateMigration } from "./dkim-keys/index.ts";
import { outboundMigrations } from "./outbound/index.ts";
import { bouncesMigrations } from "./bounces/index.ts";
import { inboxMigrations } from "./inbox/index.ts";
import { reportRowsMigration, tlsRowsMigration, dmarcReportsMigration } from "./dmarc-reports/index.ts";
import { routingCountsMigration, routingDestinationsMigration, routingMigration } from "./routing/index.ts";
import { sendingMigration } from "./sending/index.ts";
import { suppressionsMigration } from "./suppressions/index.ts";
import { tlsReportsMigration } from "./tls-reports/index.ts";

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
  ...inboxMigrations,
  routingCountsMigration,
];
