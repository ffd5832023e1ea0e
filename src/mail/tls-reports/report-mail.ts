import type { TlsReportFile } from "./report.ts";
import type { ReportingOrganization } from "./types.ts";

/** Composes the message containing a report (RFC 8460 5.3). Its DKIM signature is added later. */
export function composeReportMail(
  { id, domain, begin, end, gzip }: TlsReportFile,
  { from, to, date, reporter }: { from: string; to: string; date: Date; reporter: ReportingOrganization },
): Buffer {
  const boundary = `tls-report-${id.replace(/[^0-9A-Za-z-]/g, "-").slice(0, 40)}`;
  const file = `${reporter.domain}!${domain}!${begin}!${end}.json.gz`;
  const lines = [
    `From: ${from}`,
    `To: ${to}`,
    `Subject: Report Domain: ${domain}`,
    ` Submitter: ${reporter.domain}`,
    ` Report-ID: <${id}>`,
    `Date: ${date.toUTCString().replace("GMT", "+0000")}`,
    `Message-ID: <${id}>`,
    `TLS-Report-Domain: ${domain}`,
    `TLS-Report-Submitter: ${reporter.domain}`,
    // RFC 8689 5, 8: the message is delivered despite TLS failures on the way.
    "TLS-Required: No",
    "Auto-Submitted: auto-generated",
    "MIME-Version: 1.0",
    `Content-Type: multipart/report; report-type="tlsrpt";`,
    `\tboundary="${boundary}"`,
    "",
    `--${boundary}`,
    "Content-Type: text/plain; charset=us-ascii",
    "",
    `This is an aggregate TLS report (RFC 8460) about ${domain}`,
    `from ${reporter.domain}. Questions: ${reporter.contact}`,
    "",
    `--${boundary}`,
    "Content-Type: application/tlsrpt+gzip",
    "Content-Transfer-Encoding: base64",
    `Content-Disposition: attachment;`,
    `\tfilename="${file}"`,
    "",
    ...(gzip.toString("base64").match(/.{1,76}/g) ?? []),
    `--${boundary}--`,
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}
