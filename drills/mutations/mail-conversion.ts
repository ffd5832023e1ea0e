import type { Mutation } from "./mutation.ts";

const mime = "src/protocol/mime/mime.test.ts";
const downgrade = "src/mail/downgrade/downgrade.test.ts";
const returns = "src/mail/bounces/bounces.test.ts";

/** Mail for servers without 8BITMIME or SMTPUTF8, return paths, and sender identity. */
export const mutations: Mutation[] = [
  {
    file: "src/mail/authenticate/signatures.ts",
    from: 'if (status.warnings?.includes("identity-domain"))',
    to: 'if (status.warnings?.includes("none"))',
    test: "src/mail/authenticate/authenticate.test.ts",
    name: "i=",
  },
  { file: "src/protocol/mime/seven-bit.ts", from: "if (isProtected) throw", to: "if (false) throw", test: mime },
  {
    file: "src/protocol/mime/seven-bit.ts",
    from: 'type.startsWith("message/") && !type',
    to: 'type.startsWith("message/external") && !type',
    test: mime,
  },
  { file: "src/protocol/mime/seven-bit.ts", from: 'isUtf8 ? "utf-8" : "unknown-8bit"', to: '"utf-8"', test: mime },
  {
    file: "src/protocol/mime/seven-bit.ts",
    from: "if (entity.index > 0 && !isAscii(entity.header)) throw",
    to: "if (entity.index < 0) throw",
    test: mime,
  },
  {
    file: "src/protocol/mime/scanner.ts",
    from: "levels.length = isClosing ? at : at + 1;",
    to: "levels.length = at + 1;",
    test: mime,
  },
  {
    file: "src/protocol/mime/scanner.ts",
    from: "    events.structure(eol);\n    events.structure(line);",
    to: "    events.structure(line);",
    test: mime,
  },
  {
    file: "src/protocol/mime/transfer-encoding.ts",
    from: "column + width > MAX_LINE_LENGTH",
    to: "column + width > MAX_LINE_LENGTH + 2",
    test: mime,
  },
  {
    file: "src/protocol/mime/transfer-encoding.ts",
    from: "octet < SPACE || octet > 0x7e",
    to: "octet > 0x7e",
    test: mime,
  },
  {
    file: "src/mail/outbound/smtp/delivery-agent.ts",
    from: "(eightBitMime || !body.eightBit)",
    to: "(true || !body.eightBit)",
    test: downgrade,
  },
  {
    file: "src/mail/outbound/smtp/delivery-agent.ts",
    from: "(smtpUtf8 || !body.utf8Header)",
    to: "(true || !body.utf8Header)",
    test: downgrade,
  },
  {
    file: "src/mail/downgrade/downgrade.ts",
    from: "if (mustEncodeHeader && !own)",
    to: "if (mustEncodeHeader && own === undefined)",
    test: downgrade,
  },
  {
    file: "src/mail/downgrade/downgrade.ts",
    from: "size: size + signedHeader.length - header.length",
    to: "size",
    test: downgrade,
  },
  {
    file: "src/mail/downgrade/own-signatures.ts",
    from: "dkim.push(key);\n      unsignedStart = end;",
    to: "dkim.push(key);",
    test: downgrade,
  },
  {
    file: "src/mail/downgrade/own-signatures.ts",
    from: 'cv === "pass" || cv === "fail" ? cv : "none"',
    to: '"none"',
    test: downgrade,
  },
  { file: "src/mail/downgrade/ascii-header.ts", from: 'value.includes("=?") ||', to: "", test: downgrade },
  {
    file: "src/mail/bounces/bounce-processor.ts",
    from: "if (readBounce(await beginning(source)) === undefined)",
    to: 'if (rcpt === "")',
    test: returns,
    name: "not a delivery report",
  },
  {
    file: "src/mail/bounces/bounce-processor.ts",
    from: '(envelope.from !== "" || path.kind === "forward")',
    to: 'envelope.from !== ""',
    test: returns,
    name: "not a delivery report",
  },
  {
    file: "src/mail/bounces/bounce-processor.ts",
    from: "if (!(await isAuthenticated()))",
    to: 'if (rcpt === "")',
    test: returns,
    name: "author is authenticated",
  },
  {
    file: "src/mail/bounces/bounce-processor.ts",
    from: "isNamed(ownRecipient) || !sent.some(isNamed) ? ownRecipient : undefined",
    to: "ownRecipient",
    test: returns,
    name: "another",
  },
  {
    file: "src/mail/forwarding/sender-authenticated.ts",
    from: 'verdict.dmarc.result === "none" &&',
    to: 'verdict.dmarc.result !== "pass" &&',
    test: "src/mail/receive-recipients.test.ts",
  },
  {
    file: "src/mail/outbound/smtp/delivery-agent.ts",
    from: "JSON.stringify([from, notify, orcpt,",
    to: "JSON.stringify([notify, orcpt,",
    test: "src/mail/sending/sending-trip.test.ts",
    name: "unique return path",
  },
  {
    file: "src/mail/outbound/queue/runner.ts",
    from: "  ...(row.mail_from !== null && { from: row.mail_from }),\n",
    to: "",
    test: "src/mail/sending/sending-trip.test.ts",
    name: "unique return path",
  },
  {
    file: "src/mail/sending/sending.ts",
    from: "of outgoing.otherSenders) await senderDomain(",
    to: "of outgoing.otherSenders.slice(0, 0)) await senderDomain(",
    test: "src/mail/sending/sending.test.ts",
    name: "Resent-From",
  },
  {
    file: "src/mail/sending/outgoing-message.ts",
    from: "for (const value of headerValues(fields, name))",
    to: "for (const value of headerValues(fields, name).slice(0, 1))",
    test: "src/mail/sending/sending.test.ts",
    name: "Resent-From",
  },
  {
    file: "src/mail/system-mail/verification-mail.ts",
    from: "throw temporary ?",
    to: "throw !temporary ?",
    test: "src/mail/system-mail/verification-mail.test.ts",
  },
];
