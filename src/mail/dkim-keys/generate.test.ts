import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { test } from "node:test";
import { dkimSign } from "mailauth/lib/dkim/sign.js";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { generateKeys, dkimRecordOf, selectorOf } from "./generate.ts";

const MESSAGE =
  "From: a@example.com\r\nTo: b@example.net\r\nSubject: hello\r\nDate: Fri, 20 Nov 2026 10:00:00 +0000\r\nMessage-ID: <1@example.com>\r\n\r\nBody\r\n";

for (const algorithm of ["rsa", "ed25519"] as const) {
  test(`a message signed with a new ${algorithm} key verifies against the published record`, async () => {
    const keys = await generateKeys(algorithm);
    const record = dkimRecordOf({ selector: "s", algorithm, publicKey: keys.publicKey });
    const signature = { signingDomain: "example.com", selector: record.selector, privateKey: keys.privateKey };
    const signed = await dkimSign(MESSAGE, { ...signature, signatureData: [signature] });
    assert.deepEqual(signed.errors, []);
    const resolver = async (name: string) => {
      assert.equal(name, "s._domainkey.example.com");
      return [[record.text.slice(0, 255), record.text.slice(255)]];
    };
    const { results } = await dkimVerify(Buffer.from(signed.signatures + MESSAGE), { resolver });
    assert.deepEqual(
      results.map(({ status }: { status: { result: string } }) => status.result),
      ["pass"],
    );
  });
}

test("an RSA key has 2048 bits", async () => {
  const { publicKey, privateKey } = await generateKeys("rsa");
  const open = createPublicKey({ key: Buffer.from(publicKey, "base64"), type: "spki", format: "der" });
  assert.equal(open.asymmetricKeyDetails?.modulusLength, 2048);
  const data = Buffer.from("x");
  assert.ok(verify("sha256", data, open, sign("sha256", data, createPrivateKey(privateKey))));
});

test("selectors are numbered, separately for each algorithm", () => {
  assert.deepEqual(
    [
      selectorOf("reelpost", 1, "rsa"),
      selectorOf("reelpost", 1, "ed25519"),
      selectorOf("reelpost", 3, "rsa"),
      selectorOf("reelpost", 3, "ed25519"),
    ],
    ["reelpost", "reelpost-ed25519", "reelpost-3", "reelpost-3-ed25519"],
  );
});
