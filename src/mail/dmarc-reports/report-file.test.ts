import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { readAggregate } from "./aggregate.ts";
import { readReportFile } from "./report-file.ts";
import { aggregateXml, reportMessage, zipOf } from "./report-file.testing.ts";

const MEBIBYTE = 1024 * 1024;
const whyOf = async (message: Buffer): Promise<string> => {
  const file = await readReportFile(message);
  return file.ok ? "" : file.why;
};

test("finds a report in a GZIP file, a ZIP archive or plain text, whatever its media type", async () => {
  const xml = aggregateXml();
  for (const [name, message] of [
    ["gzip", reportMessage(gzipSync(xml), "application/gzip")],
    ["zip", reportMessage(zipOf("big.example!example.com!1!2.xml", xml), "application/zip")],
    ["octet-stream", reportMessage(gzipSync(xml))],
    ["xml", reportMessage(xml, "text/xml")],
    ["alone", Buffer.concat([Buffer.from("Content-Type: application/gzip\r\n\r\n"), gzipSync(xml)])],
  ] as const) {
    const file = await readReportFile(message);
    assert.ok(file.ok, name);
    assert.deepEqual([file.format, file.content.equals(xml)], ["xml", true], name);
  }
  const json = await readReportFile(reportMessage(gzipSync('{"organization-name":"x"}'), "application/tlsrpt+gzip"));
  assert.equal(json.ok && json.format, "json");
});

test("stops decompressing at 4 MiB, even if the archive claims a smaller size", async () => {
  const bomb = Buffer.alloc(64 * MEBIBYTE, "<");
  assert.match(await whyOf(reportMessage(gzipSync(bomb))), /larger than 4194304 bytes when it is decompressed/);
  assert.match(await whyOf(reportMessage(zipOf("a.xml", bomb))), /larger than 4194304 bytes when it is decompressed/);
  assert.match(await whyOf(reportMessage(zipOf("a.xml", bomb, 1000))), /cannot be decompressed|larger than/);
  assert.match(
    await whyOf(reportMessage(Buffer.alloc(5 * MEBIBYTE, "<"), "text/xml")),
    /the message is larger than 2097152 bytes/,
  );
  const exact = await readReportFile(reportMessage(gzipSync(Buffer.alloc(4 * MEBIBYTE, "<"))));
  assert.equal(exact.ok && exact.content.length, 4 * MEBIBYTE);
});

test("reports why a message has no report", async () => {
  assert.equal(await whyOf(Buffer.from("Subject: hi\r\n\r\nhello")), "the message has no report attached");
  assert.equal(await whyOf(reportMessage(Buffer.from("%PDF-1.4"))), "the message has no report attached");
  assert.equal(
    await whyOf(reportMessage(zipOf("readme.txt", Buffer.from("x")))),
    "the archive has no .xml or .json file",
  );
  assert.equal(await whyOf(reportMessage(gzipSync("hello"))), "the attachment is neither XML nor JSON");
  assert.match(
    await whyOf(reportMessage(gzipSync(aggregateXml()).subarray(0, 100))),
    /^the attachment cannot be decompressed: /,
  );
});

test("merges identical records, and treats unknown results as fail", () => {
  const reading = readAggregate(
    aggregateXml({
      domain: "Example.COM.",
      orgName: "A &amp; B\n",
      records: [
        { count: 2 },
        { count: 3 },
        { dkim: "fail", spf: "softfail", disposition: "reject" },
        { ip: "2001:DB8::1", disposition: "pass", from: "News.example.com" },
      ],
    }),
  );
  assert.ok(reading.ok);
  const { report } = reading;
  assert.deepEqual(
    [report.domain, report.orgName, report.reportId, report.begin, report.end],
    ["example.com", "A & B", "r1", Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1) + 86_399_000],
  );
  assert.deepEqual(report.records, [
    { sourceIp: "192.0.2.1", headerFrom: "example.com", count: 5, disposition: "none", dkim: true, spf: true },
    { sourceIp: "192.0.2.1", headerFrom: "example.com", count: 1, disposition: "reject", dkim: false, spf: false },
    { sourceIp: "2001:db8::1", headerFrom: "news.example.com", count: 1, disposition: "none", dkim: true, spf: true },
  ]);
});

test("rejects document types, deep nesting, too many records and invalid values", () => {
  const why = (xml: string | Buffer) => {
    const reading = readAggregate(Buffer.from(xml));
    return reading.ok ? "" : reading.why;
  };
  const text = aggregateXml().toString();
  assert.equal(
    why(text.replace("<feedback", '<!DOCTYPE f [<!ENTITY a "aaaa">]><feedback')),
    "the report has a document type declaration",
  );
  assert.match(why(`${"<a>".repeat(50)}${"</a>".repeat(50)}`), /not well-formed XML: Maximum nested tags/);
  assert.equal(
    why(aggregateXml({ records: Array.from({ length: 5001 }, () => ({})) })),
    "the report has more than 5000 records",
  );
  assert.match(why(text.replace("192.0.2.1", "not an address")), /record\.0\.row\.source_ip is missing or not valid/);
  assert.match(why(text.replace("<count>1<", "<count>-1<")), /record\.0\.row\.count is missing or not valid/);
  assert.match(
    why(text.replace("<report_id>r1</report_id>", "")),
    /report_metadata\.report_id is missing or not valid/,
  );
  assert.match(why("<feedback>"), /not an aggregate report|not well-formed/);
  assert.equal(why(text.replace(/<end>\d+</, "<end>1000000000<")), "the report ends before it begins");
});

test("reads arbitrary bytes without throwing", async () => {
  const xml = aggregateXml({ records: [{}, { ip: "2001:db8::1" }] });
  const files = [gzipSync(xml), zipOf("a.xml", xml), xml];
  // Whole files with some bytes replaced, so that the decoders get past their first check.
  const damaged = fc
    .tuple(fc.constantFrom(...files), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }), fc.nat())
    .map(([file, changes, cut]) => {
      const copy = Buffer.from(file);
      for (const [at, octet] of changes) copy[at % copy.length] = octet;
      return copy.subarray(0, copy.length - (cut % 3 === 0 ? cut % copy.length : 0));
    });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
        damaged,
      ),
      async (bytes) => {
        for (const message of [bytes, reportMessage(bytes)]) {
          const file = await readReportFile(message);
          if (file.ok) readAggregate(file.content);
        }
        const reading = readAggregate(bytes);
        assert.ok(reading.ok ? reading.report.records.length <= 5000 : reading.why !== "");
      },
    ),
    { numRuns: 300 },
  );
});

test("rejects a report with too many elements or element names before parsing it", () => {
  for (const elements of ["<a/>".repeat(300_001), Array.from({ length: 201 }, (_, n) => `<a${n}/>`).join("")]) {
    const xml = aggregateXml().toString().replace("<version>", `${elements}<version>`);
    const reading = readAggregate(Buffer.from(xml));
    assert.match(reading.ok ? "accepted" : reading.why, /more than 300000 tags or 200 element names/);
  }
  assert.equal(readAggregate(aggregateXml({ records: Array.from({ length: 5000 }, () => ({})) })).ok, true);
});
