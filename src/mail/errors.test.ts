import assert from "node:assert/strict";
import { test } from "node:test";
import { storeErrors } from "../store/index.ts";
import { actionErrorEntries } from "./action-errors.ts";
import { authenticationErrorEntries } from "./authentication-errors.ts";
import { deliveryErrorEntries } from "./delivery-errors.ts";
import { inboxErrorEntries } from "./inbox-errors.ts";
import { mailErrors, smtpErrorOf, replyOf } from "./errors.ts";
import { queueErrorEntries } from "./queue-errors.ts";
import { receptionErrorEntries } from "./reception-errors.ts";
import { sendErrorEntries } from "./send-errors.ts";

const PATH = "/srv/reelpost/spool/m1.eml";
const system = (code: string) =>
  Object.assign(new Error(`${code}: no such luck, open '${PATH}'`), { code, path: PATH });

const thrown: Record<string, [err: unknown, reply: string]> = {
  "a full disk": [system("ENOSPC"), "452 4.3.1"],
  "an exceeded quota": [system("EDQUOT"), "452 4.3.1"],
  "a full object store": [storeErrors.diskFull({ what: PATH }, { cause: system("ENOSPC") }), "452 4.3.1"],
  "too many open files": [system("EMFILE"), "451 4.3.2"],
  "too many open files in the object store": [storeErrors.tooManyFiles({ what: PATH }), "451 4.3.2"],
  "a read-only disk": [storeErrors.notWritable({ what: PATH, reason: `EROFS: '${PATH}'` }), "451 4.3.0"],
  "a database that is down": [
    storeErrors.unreachable({ address: "postgres://db.internal:5432", reason: `connect ${PATH}` }),
    "451 4.3.0",
  ],
  "a body beyond the limit of the store": [storeErrors.tooLarge({ maxBytes: 1024 * 1024 }), "552 5.3.4"],
  "an internal error": [new Error(`Cannot read properties of undefined at ${PATH}`), "451 4.3.0"],
};

for (const [name, [err, expected]] of Object.entries(thrown)) {
  test(`the reply to ${name} discloses no path or host name`, () => {
    const refusal = smtpErrorOf(err);
    const { code, enhanced, text } = replyOf(refusal);
    assert.equal(`${code} ${enhanced}`, expected);
    assert.doesNotMatch(text, /srv|internal|undefined|\.eml|E[A-Z]{4}/);
    assert.equal(refusal.cause, err, "the cause is available for the log");
  });
}

test("the SMTP reply for an error of the mail module has the text of that error", () => {
  const rejected = mailErrors.noSuchRecipient({ address: "b@here.example" });
  assert.equal(smtpErrorOf(rejected), rejected);
});

test("each error is defined in one file only", () => {
  const names = [
    receptionErrorEntries,
    deliveryErrorEntries,
    authenticationErrorEntries,
    actionErrorEntries,
    sendErrorEntries,
    queueErrorEntries,
    inboxErrorEntries,
  ].flatMap((entries) => Object.keys(entries));
  assert.deepEqual(names.sort(), Object.keys(mailErrors.table).sort());
});
