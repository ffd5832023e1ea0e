import assert from "node:assert/strict";
import { test } from "node:test";
import { mailErrors, smtpErrorOf, replyOf } from "./errors.ts";

const failed = (code: string) => Object.assign(new Error(`${code}: open '/srv/reelpost/spool/1'`), { code });

test("a lack of file descriptors and a lack of disk space cause different errors", () => {
  for (const code of ["EMFILE", "ENFILE"]) {
    const refusal = smtpErrorOf(failed(code));
    assert.deepEqual(replyOf(refusal), { code: 451, enhanced: "4.3.2", text: "Too many open files, try again later" });
    assert.match(refusal.fix!, /LimitNOFILE=.*ulimit -n/);
  }
  for (const code of ["ENOSPC", "EDQUOT", "53100"])
    assert.deepEqual(replyOf(smtpErrorOf(failed(code))), {
      code: 452,
      enhanced: "4.3.1",
      text: "Insufficient storage, try again later",
    });
  assert.equal(replyOf(smtpErrorOf(Object.assign(new Error("database or disk is full"), { errcode: 13 }))).code, 452);
});

test("an internal error is temporary and discloses no path to the peer", () => {
  const { code, enhanced, text } = replyOf(smtpErrorOf(failed("EIO")));
  assert.deepEqual([code, enhanced], [451, "4.3.0"]);
  assert.doesNotMatch(text, /srv|EIO/);
  assert.equal(smtpErrorOf(mailErrors.loop({ hops: 100 })).kind, "loop");
});
