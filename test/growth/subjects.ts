import { mailLog, outboundQueue, routingRules } from "./mail.ts";
import { dnsRecords, jobs } from "./store.ts";
import { liveInputs, videos } from "./stream.ts";
import type { Subject } from "./subject.ts";
import { deployedWorkers, kvKeys, queueMessages, r2Objects } from "./workers.ts";

export const subjects: readonly Subject[] = [
  videos,
  mailLog,
  outboundQueue,
  queueMessages,
  jobs,
  kvKeys,
  r2Objects,
  dnsRecords,
  routingRules,
  deployedWorkers,
  liveInputs,
];
