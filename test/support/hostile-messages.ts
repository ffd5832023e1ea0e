/** Hostile messages, generated here: each has one feature that has crashed or blocked mail parsers. */

export interface HostileMessage {
  name: string;
  /** One character is one octet. */
  raw: string;
  /** Expected result. "either": both are acceptable with a proper reply. Default: accepted. */
  answer?: "refused" | "either";
  /** Fields are removed in transit, so the message is not passed on octet for octet. */
  changed?: true;
}

const FIELDS =
  "From: ada@sender.example\r\nTo: box@routed.example\r\nSubject: hostile\r\nDate: Thu, 1 Jan 2026 00:00:00 +0000\r\nMessage-ID: <h@sender.example>\r\n";
const MIME = `${FIELDS}MIME-Version: 1.0\r\n`;
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const header = (name: string, field: string, more: Partial<HostileMessage> = {}): HostileMessage => ({
  name,
  raw: `${FIELDS}${field}\r\n\r\nbody\r\n`,
  ...more,
});
const body = (name: string, text: string, type = "text/plain"): HostileMessage => ({
  name,
  raw: `${MIME}Content-Type: ${type}\r\n\r\n${text}\r\n`,
});
const encoded = (name: string, encoding: string, text: string): HostileMessage => ({
  name,
  raw: `${MIME}Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${text}\r\n`,
});
const from = (name: string, field: string): HostileMessage => ({
  name,
  raw: `${field}\r\nTo: box@routed.example\r\nSubject: hostile\r\n\r\nbody\r\n`,
});

function nested(depth: number): string {
  const open = times(depth, (i) => `--b${i}\r\nContent-Type: multipart/mixed; boundary=b${i + 1}\r\n\r\n`).join("");
  return `${MIME}Content-Type: multipart/mixed; boundary=b0\r\n\r\n${open}--b${depth}\r\n\r\ndeep\r\n${times(depth + 1, (i) => `--b${depth - i}--\r\n`).join("")}`;
}

export function hostileMessages(): HostileMessage[] {
  return [
    ...sizes(),
    ...structures(),
    ...encodings(),
    ...octets(),
    ...authors(),
    ...shapes(),
    ...signatures(),
    ...slowToRead(),
  ];
}

const sizes = (): HostileMessage[] => [
  header("a field of 900,000 octets in lines of 900", `X-Long: ${times(1000, () => "x".repeat(897)).join("\r\n ")}`),
  header("a field of 900,000 octets in one line", `X-Long: ${"x".repeat(900_000)}`),
  header("a header section of more than a mebibyte", `X-Long: ${times(1300, () => "x".repeat(897)).join("\r\n ")}`, {
    answer: "refused",
  }),
  header("9,900 fields", times(9900, (i) => `X-${i}: ${i}`).join("\r\n")),
  header("12,000 fields", times(12_000, (i) => `X-${i}: ${i}`).join("\r\n"), { answer: "refused" }),
  header("a field of 15,000 lines", `X-Folded:${"\r\n x".repeat(15_000)}`),
  header("a field of 25,000 lines", `X-Folded:${"\r\n x".repeat(25_000)}`, { answer: "refused" }),
  header("a subject of 200,000 octets", `Subject: ${"words ".repeat(33_000)}`),
  header("10,000 recipients in To", `Cc: ${times(10_000, (i) => `r${i}@a.example`).join(",\r\n ")}`),
  header("99 servers passed", times(99, () => "Received: from a by b; Thu, 1 Jan 2026 00:00:00 +0000").join("\r\n")),
  header("101 servers passed", times(101, () => "Received: from a by b; Thu, 1 Jan 2026 00:00:00 +0000").join("\r\n"), {
    answer: "refused",
  }),
];

const structures = (): HostileMessage[] => [
  { name: "multiparts 1,000 deep", raw: nested(1000) },
  {
    name: "messages in messages, 500 deep",
    raw: `${MIME}${times(500, () => "Content-Type: message/rfc822\r\n\r\n").join("")}${FIELDS}\r\nend\r\n`,
  },
  body("a multipart without a boundary", "--x\r\n\r\ntext\r\n--x--", "multipart/mixed"),
  body("a boundary that does not come", "nothing of that kind", "multipart/mixed; boundary=never"),
  body("an empty boundary", "--\r\n\r\ntext\r\n----", 'multipart/mixed; boundary=""'),
  body(
    "a boundary of 5,000 octets",
    `--${"b".repeat(5000)}\r\n\r\ntext`,
    `multipart/mixed;\r\n boundary=${"b".repeat(5000)}`,
  ),
  body("a boundary that begins another", "--a\r\n\r\nx\r\n--ab\r\n\r\ny\r\n--a--", "multipart/mixed; boundary=a"),
  body("20,000 empty parts", "--b\r\n\r\n".repeat(20_000), "multipart/mixed; boundary=b"),
  body("no end of the last part", "--b\r\nContent-Type: text/html\r\n\r\n<p", "multipart/alternative; boundary=b"),
  body("a part that is all header", "--b\r\nContent-Type: text/plain", "multipart/mixed; boundary=b"),
  header(
    "a content type of 3,000 parameters",
    `Content-Type: text/plain;${times(3000, (i) => `\r\n p${i}=v`).join(";")}`,
  ),
  header(
    "a parameter in 1,000 pieces",
    `Content-Disposition: attachment;${times(1000, (i) => `\r\n filename*${i}*=%41`).join(";")}`,
  ),
  header(
    "pieces that leave out half",
    "Content-Disposition: attachment; filename*9=b; filename*0*=utf-8''%ff; filename*3*=%",
  ),
  header("a file name that climbs", 'Content-Type: text/plain; name="../../../../etc/passwd\\0.txt"'),
  header("two content types", "Content-Type: text/plain\r\nContent-Type: multipart/mixed; boundary=b"),
  header("a content type that is none", 'Content-Type: ;;=;"\\";/'),
];

const encodings = (): HostileMessage[] => [
  encoded("base64 with other letters", "base64", "!!!!####\u00e9\u00e8AAAA===AAAA=A=A"),
  encoded("base64 cut off", "base64", "SGVsbG8gd29ybGQhIEhlbGxvIHdvcmxkI"),
  encoded("base64 in one line of 400,000", "base64", "QUJD".repeat(100_000)),
  encoded("quoted-printable that escapes nothing", "quoted-printable", "=\r\n==\r\n=ZZ=4=\r\n=0D=0A.=0D=0A"),
  encoded("an encoding nobody knows", "x-evil; base64", "text"),
  {
    name: "two encodings",
    raw: `${MIME}Content-Transfer-Encoding: base64\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nQUJD=\r\n`,
  },
  body("a character set nobody knows", "text", "text/plain; charset=x-klingon"),
  body("UTF-7", "+ADw-script+AD4-", "text/html; charset=utf-7"),
  body("UTF-16 in the clear", "\u00ff\u00fe<\0s\0", "text/html; charset=utf-16"),
  header("encoded words that do not end", "Subject: =?utf-8?b?=?utf-8?q?=?=?=?x?y?z?="),
  header("encoded words of nothing", `Subject: ${"=????= ".repeat(5000)}`),
  header("encoded words that hold line ends", "Subject: =?utf-8?q?a=0D=0ABcc:_x@victim.example?="),
  header("an encoded word of 60,000 octets", `Subject: =?utf-8?b?${"QUJD".repeat(15_000)}?=`),
  body("uuencode", "begin 644 a\r\n#0V%T\r\n`\r\nend"),
];

const octets = (): HostileMessage[] => [
  body("NULs in the body", "a\0b\0\0\0c"),
  header("NULs in a value", "Subject: a\0b"),
  header("NULs in a name", "X-A\0B: c"),
  body(
    "every octet but the line ends",
    times(256, (i) => i)
      .filter((i) => i !== 10 && i !== 13)
      .map((i) => String.fromCharCode(i))
      .join(""),
  ),
  header("Latin-1 in the header", "Subject: caf\u00e9 \u00df"),
  header("UTF-8 in the header", "Subject: caf\u00c3\u00a9"),
  header("UTF-8 that is none", "Subject: \u00c0\u00af\u00ed\u00a0\u0080\u00f8\u0088\u0080\u0080\u0080"),
  header("both in one header", "Subject: caf\u00c3\u00a9\r\nX-Other: caf\u00e9"),
  header("8-bit in a name", "S\u00fcbject: x"),
  header("escapes of terminals", "Subject: \u001b]0;title\u0007\u001b[2J"),
  { ...body("a bare CR", "a\rb"), answer: "refused" },
  { ...body("a bare LF", "a\nb"), answer: "refused" },
];

const authors = (): HostileMessage[] => [
  from("two From fields", "From: ada@sender.example\r\nFrom: eve@victim.example"),
  from("no From", "X-From: nobody"),
  from("an empty From", "From:"),
  from("From without a domain", "From: ada"),
  from("From of a group", "From: undisclosed: ;"),
  from("1,000 authors", `From: ${times(1000, (i) => `a${i}@sender.example`).join(",\r\n ")}`),
  from("a comment 10,000 deep", `From: ${"(".repeat(10_000)}ada@sender.example${")".repeat(10_000)}`),
  from("a comment that does not end", `From: ada@sender.example ${"(".repeat(10_000)}`),
  from("a quote that does not end", `From: "ada@sender.example${'\\"'.repeat(10_000)}`),
  from("a name that is an address", 'From: "ceo@victim.example" <ada@sender.example>'),
  from("From with a NUL", "From: ada@sender.example\0@victim.example"),
  from("From in white space", `From:${" ".repeat(50_000)}ada@sender.example`),
  from("a domain of 60,000 octets", `From: ada@${"a.".repeat(30_000)}example`),
];

const shapes = (): HostileMessage[] => [
  { name: "an empty message", raw: "" },
  { name: "an empty body", raw: `${FIELDS}\r\n` },
  { name: "no empty line", raw: FIELDS },
  { name: "no header", raw: "\r\nall body\r\n" },
  { name: "only dots", raw: ".\r\n..\r\n...\r\n.\r\n" },
  { name: "20,000 dots in a column", raw: `${FIELDS}\r\n${".\r\n".repeat(20_000)}` },
  { name: "a continuation before any field", raw: ` folded\r\n${FIELDS}\r\nbody\r\n` },
  header("a line that is no field", "this is no field"),
  header("a field without a name", ": value"),
  header("a space before the colon", "Subject : value"),
  header("a folded line of white space", "Subject: a\r\n \t \r\n b"),
  {
    name: "a line of a mailbox file",
    raw: `From ada@sender.example Thu Jan  1 00:00:00 2026\r\n${FIELDS}\r\nFrom here on\r\n`,
  },
  body("a line of 998 octets", "x".repeat(998)),
  body("a line of 999 octets", "x".repeat(999)),
  body("a line of 500,000 octets", "x".repeat(500_000)),
  body("a million empty lines", "\r\n".repeat(1_000_000)),
  header(
    "dates and ids that are none",
    'Date: the day after tomorrow\r\nMessage-ID: <<>>@<>\r\nIn-Reply-To: "\r\nReferences: <a> <b <c>>',
  ),
];

const signatures = (): HostileMessage[] => [
  header(
    "200 signatures",
    times(200, (i) => `DKIM-Signature: v=1; a=rsa-sha256; d=d${i}.example; s=s; h=from; bh=AAAA; b=AAAA`).join("\r\n"),
  ),
  header("a signature without tags", "DKIM-Signature: "),
  header("a signature of tags without values", `DKIM-Signature: ${"b;".repeat(20_000)}`),
  header(
    "a signature over 5,000 fields",
    `DKIM-Signature: v=1; a=rsa-sha256; d=sender.example; s=s; bh=AAAA; b=AAAA; h=from${":from".repeat(5000)}`,
  ),
  header(
    "a signature over nothing of the body",
    "DKIM-Signature: v=1; a=rsa-sha256; d=sender.example; s=s; h=from; l=0; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=AAAA",
  ),
  header("a selector that is no name", "DKIM-Signature: v=1; a=rsa-sha256; d=..; s=\0../..; h=from; bh=AAAA; b=AAAA"),
  header(
    "ARC sets of no number",
    "ARC-Seal: i=0; cv=none; b=A\r\nARC-Seal: i=-1\r\nARC-Seal: i=99999999999999999999\r\nARC-Message-Signature: i=x",
  ),
  header(
    "60 ARC sets",
    times(
      60,
      (i) =>
        `ARC-Seal: i=${60 - i}; a=rsa-sha256; cv=pass; d=a.example; s=s; b=AAAA\r\nARC-Message-Signature: i=${60 - i}; a=rsa-sha256; d=a.example; s=s; h=from; bh=AAAA; b=AAAA\r\nARC-Authentication-Results: i=${60 - i}; a.example; spf=pass`,
    ).join("\r\n"),
  ),
  header(
    "results in our name",
    times(500, () => "Authentication-Results: mx.routed.example; spf=pass; dkim=pass; dmarc=pass").join("\r\n"),
    { changed: true },
  ),
  header("marks of a loop that we did not make", times(10, (i) => `X-Reelpost-Loop: mark${i}`).join("\r\n")),
  header("26 such marks", times(26, (i) => `X-Reelpost-Loop: mark${i}`).join("\r\n"), { answer: "refused" }),
];

/** Input that makes careless patterns backtrack. */
const slowToRead = (): HostileMessage[] =>
  [" ", "\t", "a ", "=?", '"\\', "<", "@", ";", ",", ":", "=", "(", "%00", "a@"].flatMap((piece) => {
    const text = piece.repeat(Math.floor(60_000 / piece.length));
    const fields = (...names: string[]) => names.map((name) => `${name}: ${text}!`).join("\r\n");
    return [
      header(
        `fields of ${JSON.stringify(piece)} only`,
        fields("Reply-To", "To", "Content-Type", "Message-ID", "DKIM-Signature", "ARC-Seal", "X-Reelpost-Loop"),
        { answer: "either" },
      ),
      // Results that could be mistaken for this server's own are removed.
      header(`results of ${JSON.stringify(piece)} only`, fields("Authentication-Results"), { changed: true }),
    ];
  });
