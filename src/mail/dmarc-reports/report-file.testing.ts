import { crc32, deflateRawSync } from "node:zlib";

/** Returns a ZIP archive with one deflated file (APPNOTE.TXT 4.3). `claimed`: the file size stated in the archive. */
export function zipOf(name: string, content: Buffer, claimed = content.length): Buffer {
  const data = deflateRawSync(content);
  const file = Buffer.from(name);
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(8, 4);
  common.writeUInt32LE(crc32(content), 10);
  common.writeUInt32LE(data.length, 14);
  common.writeUInt32LE(claimed, 18);
  common.writeUInt16LE(file.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, file, data]);
  const central = Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, Buffer.alloc(14), file]);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, central, end]);
}

/** A message with an attachment, in the style of large reporters. */
export const reportMessage = (
  attachment: Buffer,
  type = "application/octet-stream",
  from = "reports@big.example",
): Buffer =>
  Buffer.from(
    [
      `From: ${from}`,
      "To: rua@reports.us.example",
      "Subject: Report Domain: example.com",
      "Message-ID: <1@big.example>",
      "Date: Fri, 20 Nov 2026 01:00:00 +0000",
      "MIME-Version: 1.0",
      'Content-Type: multipart/mixed; boundary="b"',
      "",
      "--b",
      "Content-Type: text/plain",
      "",
      "This is a report.",
      "--b",
      `Content-Type: ${type}`,
      "Content-Transfer-Encoding: base64",
      "",
      attachment.toString("base64").replace(/.{76}/g, "$&\r\n"),
      "--b--",
      "",
    ].join("\r\n"),
  );

export interface AggregateFixture {
  domain?: string;
  orgName?: string;
  reportId?: string;
  begin?: number;
  records?: { ip?: string; count?: number; disposition?: string; dkim?: string; spf?: string; from?: string }[];
}

/** An aggregate report (RFC 7489 Appendix C). */
export const aggregateXml = ({
  domain = "example.com",
  orgName = "Big Mail",
  reportId = "r1",
  begin = Date.UTC(2026, 0, 1),
  records = [{}],
}: AggregateFixture = {}): Buffer =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8" ?>
<feedback xmlns="urn:ietf:params:xml:ns:dmarc-2.0">
  <version>1.0</version>
  <report_metadata><org_name>${orgName}</org_name><email>reports@big.example</email><report_id>${reportId}</report_id><date_range><begin>${begin / 1000}</begin><end>${begin / 1000 + 86_399}</end></date_range></report_metadata>
  <policy_published><domain>${domain}</domain><adkim>r</adkim><aspf>r</aspf><p>reject</p><sp>reject</sp><pct>100</pct></policy_published>
${records
  .map(
    ({ ip = "192.0.2.1", count = 1, disposition = "none", dkim = "pass", spf = "pass", from = domain }) => `  <record>
    <row><source_ip>${ip}</source_ip><count>${count}</count><policy_evaluated><disposition>${disposition}</disposition><dkim>${dkim}</dkim><spf>${spf}</spf></policy_evaluated></row>
    <identifiers><header_from>${from}</header_from></identifiers>
    <auth_results><dkim><domain>${from}</domain><result>${dkim}</result></dkim><spf><domain>${from}</domain><result>${spf}</result></spf></auth_results>
  </record>`,
  )
  .join("\n")}
</feedback>
`);

interface TlsFixture {
  domain?: string;
  reportId?: string;
  begin?: number;
  successful?: number;
  failures?: Record<string, number>;
}

/** A TLS report, as in RFC 8460 Appendix B. */
export const tlsJson = ({
  domain = "example.com",
  reportId = "t1",
  begin = Date.UTC(2026, 0, 1),
  successful = 100,
  failures = {},
}: TlsFixture = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      "organization-name": "Big Mail",
      "date-range": {
        "start-datetime": new Date(begin).toISOString(),
        "end-datetime": new Date(begin + 86_399_000).toISOString(),
      },
      "contact-info": "sts-reporting@big.example",
      "report-id": reportId,
      policies: [
        {
          policy: {
            "policy-type": "sts",
            "policy-string": ["version: STSv1", "mode: testing", "mx: *.mail.example.com", "max_age: 86400"],
            "policy-domain": domain,
            "mx-host": ["*.mail.example.com"],
          },
          summary: {
            "total-successful-session-count": successful,
            "total-failure-session-count": Object.values(failures).reduce((sum, count) => sum + count, 0),
          },
          "failure-details": Object.entries(failures).map(([type, count]) => ({
            "result-type": type,
            "sending-mta-ip": "2001:db8:abcd:0012::1",
            "receiving-mx-hostname": "mx1.mail.example.com",
            "failed-session-count": count,
          })),
        },
      ],
    }),
  );
