const crlf = "\r\n";
const idWidth = 12;

/** Creates messages of one size, each with a unique Message-ID. */
export function createMessageSource({ size, prefix }: { size: number; prefix: string }): () => Uint8Array {
  const head = [
    `Message-ID: <${prefix}-${"0".repeat(idWidth)}@sender.example>`,
    "Date: Fri, 02 Oct 2026 10:11:12 +0000",
    "From: Ada Lovelace <ada@sender.example>",
    "To: Charles Babbage <inbox@reelpost.example>",
    "Subject: =?utf-8?q?Notes_on_the_engine_=E2=80=93_part_two?=",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="parts"',
    "",
    "--parts",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "The engine has no pretensions whatever to originate anything.=20",
    "--parts",
    'Content-Type: application/octet-stream; name="table.bin"',
    'Content-Disposition: attachment; filename="table.bin"',
    "Content-Transfer-Encoding: base64",
    "",
    "",
  ].join(crlf);
  const tail = `${crlf}--parts--${crlf}`;
  const template = Buffer.from(head + base64Lines(size - head.length - tail.length) + tail, "latin1");
  const idAt = template.indexOf("0".repeat(idWidth));
  let count = 0;
  return () => {
    const mail = Buffer.from(template);
    mail.write(String(count++).padStart(idWidth, "0"), idAt, "latin1");
    return mail;
  };
}

/** Base64 text in lines of 76 characters, `length` characters in total. */
function base64Lines(length: number): string {
  const line = "QUFB".repeat(19) + crlf;
  return line.repeat(Math.floor(length / line.length)) + "QUFB".repeat(19).slice(0, length % line.length);
}
