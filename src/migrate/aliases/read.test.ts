import assert from "node:assert/strict";
import { test } from "node:test";
import { domainOfAlias, readAliases, type AliasFormat } from "./read.ts";

const read = (text: string, format: AliasFormat, domain?: string) => {
  const { aliases, problems } = readAliases(text, { format, ...(domain !== undefined && { domain }) });
  return {
    aliases: aliases.map(({ type, value, destinations, enabled }) => [type, value, destinations.join(" "), enabled]),
    problems: problems.map(({ line, reason }) => `${line}: ${reason}`),
  };
};

test("reads Postfix maps with comments, continuation lines, catch-alls and regular expressions", () => {
  const map = `# aliases
Info@example.com   ada@inbox.example,
                   bob@inbox.example
@example.com       all@inbox.example
postmaster: ada@inbox.example
/^sales-[a-z]+@example\\.com$/  ada@inbox.example
/support/i         ada@inbox.example
/^(.*)@old\\.example$/  $1@new.example
local              ada
`;
  assert.deepEqual(read(map, "postfix", "example.com"), {
    aliases: [
      ["literal", "info@example.com", "ada@inbox.example bob@inbox.example", true],
      ["catch-all", "example.com", "all@inbox.example", true],
      ["literal", "postmaster@example.com", "ada@inbox.example", true],
      ["regex", "^sales-[a-z]+@example\\.com$", "ada@inbox.example", true],
      ["regex", ".*(?:support).*", "ada@inbox.example", true],
    ],
    problems: [
      "8: its destination $1@new.example refers to parts of the matched address, which rules do not support",
      "9: its destination ada is not an email address",
    ],
  });
  assert.deepEqual(read("name a@b.example\n", "postfix").problems, ["1: its address has no domain; set --domain"]);
});

test("reads CSV exports by column name", () => {
  assert.deepEqual(
    read(
      'Name,Recipients,Description,Enabled\nhello,"ada@inbox.example, bob@inbox.example","says ""hi""\non two lines",true\n*@example.com,ada@inbox.example,,false\n',
      "forwardemail",
      "example.com",
    ).aliases,
    [
      ["literal", "hello@example.com", "ada@inbox.example bob@inbox.example", true],
      ["catch-all", "example.com", "ada@inbox.example", false],
    ],
  );
  assert.deepEqual(
    read(
      "id,local_part,email,active,recipients\r\n1,shop,shop@anon.example,0,ada@inbox.example\r\n2,x,x@anon.example,1,\r\n",
      "addy",
    ),
    { aliases: [["literal", "shop@anon.example", "ada@inbox.example", false]], problems: ["3: it has no destination"] },
  );
  assert.deepEqual(read("\uFEFFaddress;goto;active\n@example.com;ada@inbox.example;1\n", "mailcow").aliases, [
    ["catch-all", "example.com", "ada@inbox.example", true],
  ]);
});

test("the domain of a regular expression is the domain at its end", () => {
  const domains = [
    "/^a@mail\\.example\\.com$/ x@y.example",
    "/@example\\.com/ x@y.example",
    "/^abuse/ x@y.example",
  ].map((line) => domainOfAlias(readAliases(line, { format: "postfix" }).aliases[0]!));
  assert.deepEqual(domains, ["mail.example.com", "example.com", undefined]);
});
