import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { addressKey, domainOf, parseAddress, parseAddressList, parseMailbox, isSameMailAddress } from "./address.ts";

const list = (text: string) =>
  parseAddressList(text)?.map(({ name, address }) => (name === "" ? address : `${name}|${address}`));

for (const [text, expected] of Object.entries({
  "a@b.example": ["a@b.example"],
  "Ann <a@b.example>": ["Ann|a@b.example"],
  '"Ann, the \\"one\\"" <a@b.example>': ['Ann, the "one"|a@b.example'],
  "John Q. Public <j@x.example>": ["John Q. Public|j@x.example"],
  "a@b.example, c@d.example": ["a@b.example", "c@d.example"],
  "a@b.example,, ,c@d.example,": ["a@b.example", "c@d.example"],
  "Team: a@b.example, Bo <c@d.example>;": ["a@b.example", "Bo|c@d.example"],
  "Team: a@b.example; , z@y.example": ["a@b.example", "z@y.example"],
  "undisclosed-recipients:;": [],
  "(comment (nested)) a (x) @ (y) b.example (z)": ["a@b.example"],
  "Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>": ["Pete|pete@silly.test"],
  "<@relay.example,@other.example:a@b.example>": ["a@b.example"],
  '"john doe"@b.example': ['"john doe"@b.example'],
  '"john.doe"@b.example': ["john.doe@b.example"],
  "a@[192.0.2.1]": ["a@[192.0.2.1]"],
  "a@[IPv6:2001:db8::1]": ["a@[IPv6:2001:db8::1]"],
  "a@BÜCHER.example": ["a@xn--bcher-kva.example"],
  "用户@例子.测试": ["用户@xn--fsqu00a.xn--0zwm56d"],
  "Jürgen <j@b.example>": ["Jürgen|j@b.example"],
  "=?utf-8?q?J=C3=BCrgen?= <j@b.example>": ["=?utf-8?q?J=C3=BCrgen?=|j@b.example"],
  "Ann\r\n <a@b.example>": ["Ann|a@b.example"],
  "dev@localhost": ["dev@localhost"],
  "a+tag@b.example": ["a+tag@b.example"],
  "": [],
})) {
  test(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(list(text), expected));
}

for (const text of [
  "a",
  "a@",
  "@b",
  "a@b@c",
  "a b@c.example",
  "a.@b.example",
  ".a@b.example",
  "a..b@c.example",
  "a@b..example",
  "a@.b",
  "a@b.",
  "a@-b.example",
  "a@b-.example",
  "<a@b.example",
  "a@b.example>",
  "Ann a@b.example",
  "a@b.example c@d.example",
  '"open@b.example',
  "(open a@b.example",
  "a@[192.0.2.1",
  "a@[nonsense]",
  "Team: a@b.example",
  "A: B: a@b.example;;",
  "a@b.example;",
  ": a@b.example;",
  "a\\b@c.example",
  "a@b c.example",
  'a@"b".example',
  "a\0@b.example",
  '"a\nb"@c.example',
  '""@b.example',
  `${"a".repeat(250)}@b.example`,
  `a@${"b".repeat(64)}.example`,
  "(".repeat(200) + ")".repeat(200) + "a@b.example",
]) {
  test(`rejects ${JSON.stringify(text.slice(0, 40))}`, () => assert.equal(parseAddressList(text), undefined));
}

test("rejects anything before or after a bare address", () => {
  assert.equal(parseAddress("A@B.example")?.address, "A@b.example");
  for (const text of [
    "<a@b.example>",
    "Ann <a@b.example>",
    " a@b.example",
    "a@b.example ",
    "a@b.example (x)",
    "a @b.example",
    "a@b.example,",
    "",
  ])
    assert.equal(parseAddress(text), undefined, text);
});

test("parses a single mailbox only", () => {
  assert.deepEqual(parseMailbox('"Ann" <a@b.example>'), {
    name: "Ann",
    address: "a@b.example",
    local: "a",
    domain: "b.example",
  });
  assert.equal(parseMailbox("a@b.example, c@d.example"), undefined);
  assert.equal(parseMailbox(""), undefined);
});

test("treats equivalent forms of an address as equal", () => {
  assert.ok(isSameMailAddress("Ann <A@Bücher.example>", '"a"@xn--bcher-kva.EXAMPLE'));
  assert.ok(!isSameMailAddress("a@b.example", "a@c.example"));
  assert.ok(!isSameMailAddress("", ""));
  assert.equal(domainOf("a@B.example"), "b.example");
  assert.equal(domainOf(""), "");
});

test("reads back formatted addresses", () => {
  const local = fc
    .string({ minLength: 1, maxLength: 20 })
    .filter((text) => !/\p{Cc}/u.test(text) && text.isWellFormed());
  const name = fc.stringMatching(/^([!-~]([ -~]{0,20}[!-~])?)?$/);
  const domain = fc.stringMatching(/^[a-z][a-z0-9]{0,10}(\.[a-z]{2,5}){1,2}$/);
  const quote = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;
  fc.assert(
    fc.property(fc.array(fc.record({ name, local, domain }), { maxLength: 5 }), (mailboxes) => {
      const text = mailboxes.map((m) => `${quote(m.name)} <${quote(m.local)}@${m.domain}>`).join(", ");
      const parsed = parseAddressList(text);
      assert.deepEqual(
        parsed?.map(({ name, local, domain }) => ({ name, local, domain })),
        mailboxes.map((m) => ({ ...m, name: m.name.trim() })),
      );
      // The canonical form of an address does not change when it is canonicalised again.
      for (const mailbox of parsed!) assert.equal(addressKey(parseAddress(mailbox.address)!), addressKey(mailbox));
    }),
  );
});

test("an address without white space, quotes or angle brackets is parsed like the same address in angle brackets", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[aA1._!-]{0,6}@?[aA1._-]{0,70}$/), (text) => {
      assert.deepEqual(parseAddress(text), parseMailbox(`<${text}>`));
      assert.deepEqual(parseMailbox(text), parseMailbox(`<${text}>`));
    }),
  );
});

test("reads any text without throwing", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => void parseAddressList(text)));
  fc.assert(fc.property(fc.stringMatching(/^[a"\\()<>@,;:.[\] \r\n]{0,40}$/), (text) => void parseAddressList(text)));
});

test("parses hostile texts of 200 KB in linear time", () => {
  for (const piece of [
    '"',
    "\\",
    "(",
    "()",
    "<",
    "@",
    ",",
    ";",
    ":",
    ".",
    "[",
    "a",
    "a ",
    "a.",
    "a:",
    '"a',
    "a@b,",
    "\r\n ",
  ]) {
    const text = piece.repeat(Math.floor(200_000 / piece.length));
    const ms = cpuMs(() => {
      parseAddressList(text);
      parseAddressList(`${text} <a@b.example>`);
    });
    assert.ok(ms < 2000, JSON.stringify(piece));
  }
});
