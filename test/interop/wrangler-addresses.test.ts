import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import PostalMime from "postal-mime";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `
export default {
  async email(message, env) {
    if (message.from.startsWith("spammer@")) return message.setReject("We do not want that");
    await env.SEEN.put(message.to, message.from);
  },
  async fetch(request, env) {
    const { keys } = await env.SEEN.list();
    return Response.json(await Promise.all(keys.map(async ({ name }) => [name, await env.SEEN.get(name)])));
  },
};
`;

describe("the addresses in a configuration file", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  let zone: string;
  before(async () => {
    platform = await startPlatform(scope);
    const json = (body: unknown) => ({ method: "POST", body: JSON.stringify(body) });
    ({ id: zone } = await platform.ask<{ id: string }>(
      "/zones",
      json({ name: "example.com", account: { id: platform.account } }),
    ));
    const { id } = await platform.ask<{ id: string }>(
      `/accounts/${platform.account}/storage/kv/namespaces`,
      json({ title: "seen" }),
    );
    const config = {
      name: "inbox",
      main: "index.js",
      compatibility_date: "2026-10-01",
      addresses: ["support@example.com"],
      kv_namespaces: [{ binding: "SEEN", id }],
    };
    wrangler = await platform.wrangler({ "wrangler.jsonc": JSON.stringify(config), "index.js": WORKER });
  });
  after(() => scope.close());

  it("become rules when the worker is deployed, and mail to them reaches the worker", async () => {
    await platform.ask(`/zones/${zone}/email/routing/dns`, { method: "POST", body: "{}" });
    const { text } = await wrangler.run(["deploy"]);
    assert.match(text, /support@example\.com/);
    const rules = await platform.ask<{ matchers: { value?: string }[]; source: string }[]>(
      `/zones/${zone}/email/routing/rules`,
    );
    assert.deepEqual(
      rules.map(({ matchers, source }) => [matchers[0]!.value, source]),
      [
        ["support@example.com", "wrangler"],
        [undefined, "api"],
      ],
    );

    await platform.mail({ from: "ada@example.net", to: "support@example.com" });
    await assert.rejects(
      platform.mail({ from: "spammer@example.net", to: "support@example.com" }),
      /555 .*We do not want that/,
    );
    await assert.rejects(platform.mail({ from: "ada@example.net", to: "nobody@example.com" }), /550/);
    await assert.rejects(platform.mail({ from: "ada@example.net", to: "support@example.org" }), /550/);
    assert.deepEqual(JSON.parse((await platform.visit("inbox")).text), [["support@example.com", "ada@example.net"]]);
  });

  it("a destination address is verified on the page linked in the verification mail", async () => {
    const addresses = `/accounts/${platform.account}/email/routing/addresses`;
    const { id } = await platform.ask<{ id: string }>(addresses, {
      method: "POST",
      body: JSON.stringify({ email: "grace@example.net" }),
    });
    const folder = join(platform.server.ready.dataDirectory, "mail", "email");
    const mails = (await readdir(folder)).filter((name) => name.endsWith(".eml"));
    assert.equal(mails.length, 1);
    const { text = "" } = await PostalMime.parse(await readFile(join(folder, mails[0]!)));
    const [link = ""] = /^http:\S+\/email\/verify\/\S+$/m.exec(text) ?? [];
    assert.ok(link.startsWith(`${platform.url}/email/verify/`), text);
    assert.equal((await platform.ask<{ verified: string | null }>(`${addresses}/${id}`)).verified, null);
    assert.match(await (await fetch(link)).text(), /grace@example\.net/);
    assert.equal((await fetch(link, { method: "POST" })).status, 200);
    assert.ok((await platform.ask<{ verified: string | null }>(`${addresses}/${id}`)).verified);
  });
});
