import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import { domainOf } from "../../protocol/rfc5322/index.ts";
import type { Zone, Zones } from "../../zones/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import { mailErrors } from "../errors.ts";
import { isAuthorAuthenticated } from "../forwarding/index.ts";
import type { Envelope, MailSource } from "../messages/index.ts";
import { readAggregate } from "./aggregate.ts";
import { MAX_REPORT_MESSAGE_BYTES, readReportFile } from "./report-file.ts";
import type { ReportHeader } from "./received-table.ts";
import type { ReportRows } from "./report-rows-table.ts";
import { readTlsReport } from "./tls-report.ts";

/** Mail to the report address of a zone. */
interface ReportMail {
  /** Id of the zone. */
  zone: string;
  envelope: Pick<Envelope, "from">;
  source: Pick<MailSource, "size" | "open">;
  /** Undefined if senders are not authenticated; in that case nothing is recorded. */
  verdict?: Pick<Verdict, "spf" | "dkim" | "dmarc"> | undefined;
}

type Intake = { recorded: true } | { recorded: false; why: string };

export interface ReportIntake {
  /**
   * Adds a report to the statistics of its zone. Resolves when they are on disk. Rejects if the database or DNS fails,
   * or if too many reports are being read; the sender then retries.
   */
  accept(mail: ReportMail): Promise<Intake>;
}

interface ReportIntakeDeps {
  rows: Pick<ReportRows, "recordDmarc" | "recordTls">;
  zones: Pick<Zones, "find">;
  clock: Pick<Clock, "now">;
}

/** Days for which statistics are stored. */
export const RETENTION_DAYS = 400;
const DAY_MS = 86_400_000;
/** Maximum number of reports waiting while one is read: each may take about 5 MiB and half a second. */
const MAX_WAITING = 20;

const ignoreBecause = (why: string): Intake => ({ recorded: false, why });

export function createReportIntake({ rows, zones, clock }: ReportIntakeDeps): ReportIntake {
  let waitingCount = 0;
  let last: Promise<unknown> = Promise.resolve();

  /** Runs one job at a time, so that only one report is read. */
  async function runInTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (waitingCount >= MAX_WAITING) throw mailErrors.reportsBusy();
    waitingCount++;
    const turn = last.then(work);
    last = turn.catch(() => {}).finally(() => waitingCount--);
    return turn;
  }

  async function read({ zone: id, source }: ReportMail, sender: string): Promise<Intake> {
    const zone = await zones.find(id);
    if (zone === undefined) return ignoreBecause("the zone does not exist");
    const file = await readReportFile(await bytesOf(source));
    if (!file.ok) return ignoreBecause(file.why);
    return file.format === "xml" ? storeAggregate(zone, sender, file.content) : storeTls(zone, sender, file.content);
  }

  async function storeAggregate(zone: Zone, sender: string, content: Buffer): Promise<Intake> {
    const reading = readAggregate(content);
    if (!reading.ok) return ignoreBecause(reading.why);
    const { report } = reading;
    const why = problemOf(zone, report.begin, [report.domain]);
    return why === undefined
      ? toIntake(await rows.recordDmarc(headOf("dmarc", zone.id, sender, report), report.records))
      : ignoreBecause(why);
  }

  async function storeTls(zone: Zone, sender: string, content: Buffer): Promise<Intake> {
    const reading = readTlsReport(content);
    if (!reading.ok) return ignoreBecause(reading.why);
    const { report } = reading;
    const why = problemOf(
      zone,
      report.begin,
      report.policies.map(({ domain }) => domain),
    );
    return why === undefined
      ? toIntake(await rows.recordTls(headOf("tls", zone.id, sender, report), report.policies))
      : ignoreBecause(why);
  }

  /** Returns the reason why a report does not count for a zone; undefined if it counts. */
  function problemOf({ name }: Zone, begin: number, domains: readonly string[]): string | undefined {
    const foreignDomain = domains.find((domain) => domain !== name && !domain.endsWith(`.${name}`));
    if (foreignDomain !== undefined) return `the report is about ${foreignDomain}, which is not in the zone ${name}`;
    if (begin >= clock.now() - RETENTION_DAYS * DAY_MS && begin <= clock.now() + DAY_MS) return undefined;
    return `the report begins at ${new Date(begin).toISOString()}, which is not in the last ${RETENTION_DAYS} days`;
  }

  function headOf(
    kind: ReportHeader["kind"],
    zone: string,
    sender: string,
    { orgName, reportId, begin, end }: Pick<ReportHeader, "orgName" | "reportId" | "begin" | "end">,
  ): ReportHeader {
    // The sender is part of the key, so that others cannot claim the id of a future report.
    const key = createHash("sha256")
      .update(JSON.stringify([sender, orgName, reportId]))
      .digest("hex");
    return { zone, kind, key, sender, orgName, reportId, begin, end, receivedAt: clock.now() };
  }

  return {
    async accept(mail) {
      // The sender retries; accepting without DNS would lose the report.
      if (mail.verdict?.dmarc.result === "temperror")
        throw mailErrors.authenticationUnclear({
          what: `the DMARC record of ${mail.verdict.dmarc.from ?? "the author domain"}`,
        });
      const sender = senderOf(mail);
      if (sender === undefined) return ignoreBecause("the sender is not authenticated");
      if (mail.source.size > MAX_REPORT_MESSAGE_BYTES)
        return ignoreBecause(`the message is larger than ${MAX_REPORT_MESSAGE_BYTES} bytes`);
      return runInTurn(() => read(mail, sender));
    },
  };
}

/** Returns the authenticated domain of the sender. */
function senderOf({ envelope, verdict }: ReportMail): string | undefined {
  if (verdict === undefined || !isAuthorAuthenticated(envelope, verdict)) return undefined;
  return (verdict.dmarc.result === "pass" ? verdict.dmarc.from : domainOf(envelope.from))?.toLowerCase().slice(0, 255);
}

function toIntake(result: "recorded" | "duplicate" | "too many"): Intake {
  if (result === "recorded") return { recorded: true };
  return ignoreBecause(
    result === "duplicate" ? "the report was recorded before" : "the sender has sent too many reports today",
  );
}

async function bytesOf(source: Pick<MailSource, "open">): Promise<Buffer> {
  const body = source.open();
  return body instanceof Uint8Array
    ? Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    : Buffer.concat(await body.toArray());
}
