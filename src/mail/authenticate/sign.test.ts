import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { Readable } from "node:stream";
import { test } from "node:test";
import { dkimVerify } from "mailauth";
import { Fault } from "../../kernel/index.ts";
import type { MailSource } from "../messages/index.ts";
import { clock, keyOf, mail, recordOf, textOf } from "./authenticate.testing.ts";
import { createSigner } from "./sign.ts";
import { tableResolver } from "./suites.testing.ts";

const KEYS = [keyOf("service.example"), keyOf("customer.example", "ed25519")];
const resolver = tableResolver(Object.assign({}, ...KEYS.map(recordOf))) as never;
const signer = createSigner({ clock });

const resultsOf = async (message: string) =>
  (await dkimVerify(Buffer.from(message), { resolver, strict: true, curTime: new Date(clock.now()) })).results.map(
    ({ signingDomain, status }) => [signingDomain, status.result],
  );

const inPieces = (source: MailSource, size: number): MailSource => ({
  ...source,
  open: (start) =>
    Readable.from(
      (function* () {
        const bytes = source.open(start) as Buffer;
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      })(),
    ),
});

const TEXT =
  "From: Ä <a@customer.example>\nList-Unsubscribe: <https://customer.example/u>\nSubject: hi\n\n\nHello \t there \n\n\n";

test("adds the service's and the customer's signature to a message in memory or in chunks", async () => {
  const source = mail(TEXT);
  const fields = await signer.sign(source, { dkim: KEYS });
  assert.deepEqual(await resultsOf(fields + (await textOf(source))), [
    ["service.example", "pass"],
    ["customer.example", "pass"],
  ]);
  for (const size of [1, 2, 7, 1000]) assert.equal(await signer.sign(inPieces(source, size), { dkim: KEYS }), fields);
});

test("signs messages of every shape: without a body, without the end of the header section, and empty", async () => {
  for (const text of [
    "From: a@customer.example\n\n",
    "From: a@customer.example\n",
    "From: a@customer.example\n\n\n\n",
    `From: a@customer.example\n\n${"x".repeat(1_200_000)}`,
  ]) {
    const source = mail(text);
    assert.deepEqual(
      await resultsOf((await signer.sign(source, { dkim: KEYS })) + (await textOf(source))),
      [
        ["service.example", "pass"],
        ["customer.example", "pass"],
      ],
      text.slice(0, 40),
    );
  }
  for (const text of ["", "\n", "Subject: no author\n\nx\n"])
    assert.equal(await signer.sign(mail(text), { dkim: KEYS }), "");
  assert.equal(await signer.sign(mail(TEXT), {}), "");
});

test("an invalid key is an internal error that names the key", async () => {
  const short = generateKeyPairSync("rsa", { modulusLength: 512 }).privateKey.export({
    format: "pem",
    type: "pkcs8",
  }) as string;
  const curve = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    format: "pem",
    type: "pkcs8",
  }) as string;
  for (const privateKey of ["", "nonsense", short, curve]) {
    await assert.rejects(
      signer.sign(mail(TEXT), { dkim: [{ domain: "a.example", selector: "s", privateKey }] }),
      (err: unknown) => err instanceof Fault && err.message.includes("s._domainkey.a.example"),
    );
  }
});
