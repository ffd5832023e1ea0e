import assert from "node:assert/strict";
import { test } from "node:test";
import { conversation } from "./listening.testing.ts";

/** Addresses and parameters of MAIL and RCPT. */

test("accepts the allowed parameters of MAIL and RCPT, and rejects all others", async (t) => {
  const { say } = await conversation(t, { limits: { errorsBeforeDelay: 100, errors: 100 } });
  for (const [params, code] of [
    ["SIZE=100 BODY=8BITMIME SMTPUTF8 RET=HDRS ENVID=QQ314159", "250 2.1.0"],
    ["REQUIRETLS", "555 5.5.4"],
    ["X-OTHER=1", "555 5.5.4"],
    ["AUTH=<>", "555 5.5.4"],
    ["=", "555 5.5.4"],
    ["SIZE=x", "501 5."],
    ["SIZE=10 SIZE=20", "501 5."],
    ["SIZE=99999999999999999999", "552 5.3.4"],
    ["BODY=BINARYMIME", "501 5."],
    ["SMTPUTF8=1", "501 5."],
    ["RET=ALL", "501 5.5.4"],
    ["ENVID=a+b", "501 5."],
    [`ENVID=${"x".repeat(101)}`, "501 5.5.4"],
    ["RET=FULL RET=HDRS", "501 5.5.4"],
  ]) {
    const answer = await say(`MAIL FROM:<a@b.example> ${params}`);
    assert.ok(answer.startsWith(code!), `${params}: ${answer}`);
    await say("RSET");
  }
  await say("MAIL FROM:<a@b.example>");
  for (const [params, code] of [
    ["NOTIFY=SUCCESS,DELAY ORCPT=rfc822;x@y.example", "250 2.1.5"],
    ["NOTIFY=NEVER,FAILURE", "501 5.5.4"],
    ["NOTIFY=SOMETIMES", "501 5.5.4"],
    ["ORCPT=x", "501 5.5.4"],
    ["SIZE=1", "555 5.5.4"],
  ]) {
    const answer = await say(`RCPT TO:<b@here.example> ${params}`);
    assert.ok(answer.startsWith(code!), `${params}: ${answer}`);
  }
});

test("the envelope contains the DSN parameters, keyed by recipient", async (t) => {
  const { say, taken } = await conversation(t);
  await say("MAIL FROM:<a@b.example> RET=FULL ENVID=QQ+2B1");
  for (const rcpt of [
    "<one@here.example> NOTIFY=NEVER",
    "<TWO@bücher.example> NOTIFY=success,failure ORCPT=rfc822;first+2Btag@x.example",
    "<three@here.example>",
  ]) {
    await say(`RCPT TO:${rcpt.replace("bücher", "xn--bcher-kva")}`);
  }
  await say("DATA");
  await say("x\r\n.");
  assert.deepEqual(taken[0]!.envelope.dsn, {
    ret: "FULL",
    envid: "QQ+1",
    to: {
      "one@here.example": { notify: ["NEVER"] },
      "TWO@xn--bcher-kva.example": { notify: ["SUCCESS", "FAILURE"], orcpt: "rfc822;first+tag@x.example" },
    },
  });
  // The next transaction starts without parameters.
  await say("MAIL FROM:<a@b.example>");
  await say("RCPT TO:<one@here.example>");
  await say("DATA");
  await say("x\r\n.");
  assert.equal(taken[1]!.envelope.dsn, undefined);
});

test("RFC 6531: a non-ASCII address needs SMTPUTF8, and must be UTF-8", async (t) => {
  const { say, client } = await conversation(t);
  assert.match(await say("MAIL FROM:<jürgen@b.example>"), /^553 5\.6\.7 /);
  assert.match(await say("MAIL FROM:<a@b.example>"), /^250 /);
  assert.match(await say("RCPT TO:<jürgen@here.example>"), /^553 5\.6\.7 /);
  assert.match(await say("RSET"), /^250 /);
  assert.match(
    await client.say(Buffer.from("MAIL FROM:<j\xfcrgen@b.example> SMTPUTF8\r\n", "latin1")),
    /^501 5\.5\.2 /,
  );
  assert.match(await say("MAIL FROM:<jürgen@b.example> SMTPUTF8"), /^250 /);
  assert.match(await say("RCPT TO:<jürgen@here.example>"), /^250 /);
});

for (const path of [
  "a@b.example",
  "<a@b.example",
  "a@b.example>",
  "<a b@c.example>",
  "<a@b.example>x",
  "<@>",
  "<a@>",
  "<@b.example>",
  "<a@@b.example>",
  "<a..b@c.example>",
  "<.a@b.example>",
  "<a@b..example>",
  "<a@[999.0.2.1]>",
  "<a@[IPv6:zz]>",
  "<a@b.example\0>",
  "<a\x7f@b.example>",
  `<${"a".repeat(300)}@b.example>`,
  "<<a@b.example>>",
  "<a@b.example> <c@d.example>",
  "",
]) {
  test(`rejects an invalid path: ${JSON.stringify(path.slice(0, 40))}`, async (t) => {
    const { say } = await conversation(t);
    assert.match(await say(`MAIL FROM:${path}`), /^5\d\d 5\./);
    assert.match(await say("MAIL FROM:<a@b.example>"), /^250 /);
    assert.match(await say(`RCPT TO:${path}`), /^5\d\d 5\./);
    assert.match(await say("DATA"), /^503 5\.5\.1 /);
  });
}

test("accepts the null sender, a source route, an address literal, postmaster without a domain", async (t) => {
  const { say, taken } = await conversation(t);
  assert.match(await say("MAIL FROM:<>"), /^250 /);
  for (const rcpt of ["<@relay.example,@other.example:b@here.example>", "<b@[192.0.2.1]>", "<Postmaster>"])
    assert.match(await say(`RCPT TO:${rcpt}`), /^250 /, rcpt);
  assert.match(await say("RCPT TO:<>"), /^501 5\./);
  await say("DATA");
  await say("x\r\n.");
  assert.equal(taken[0]!.envelope.from, "");
  assert.deepEqual(taken[0]!.envelope.to, ["b@here.example", "b@[192.0.2.1]", "Postmaster"]);
});
