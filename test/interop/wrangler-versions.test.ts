import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const worker = (edition: string) =>
  `export default { fetch: (request, env) => Response.json({ edition: "${edition}", key: env.KEY ?? null, two: env.TWO ?? null, later: env.LATER ?? null }) };\n`;
const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

interface Version {
  id: string;
  number: number;
  annotations: Record<string, string>;
}
interface Deployment {
  annotations: Record<string, string>;
  versions: { version_id: string; percentage: number }[];
}

describe("wrangler secret, versions, deployments, rollback", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({ name: "shop", main: "worker.js", compatibility_date: "2026-10-01" }),
      "worker.js": worker("first"),
    });
    await wrangler.run(["deploy"]);
  });
  after(scope.close);

  const visit = async () =>
    JSON.parse((await platform.visit("shop")).text) as {
      edition: string;
      key: string | null;
      two: string | null;
      later: string | null;
    };
  const printed = async <Result>(args: string[]) => JSON.parse((await wrangler.run(args)).stdout) as Result;
  /** Resolves with the newest version, read through the API, which is faster than another command. */
  const lastVersion = async () =>
    (await platform.ask<{ items: Version[] }>(`/accounts/${platform.account}/workers/scripts/shop/versions`)).items[0]!;
  const lastDeployment = async () =>
    (
      await platform.ask<{ deployments: Deployment[] }>(
        `/accounts/${platform.account}/workers/scripts/shop/deployments`,
      )
    ).deployments[0]!;
  const idIn = (text: string) => new RegExp(`Version ID:\\s+(${UUID})`).exec(text)![1]!;

  describe("secrets", () => {
    it("put takes effect immediately", async () => {
      assert.match(
        (await wrangler.run(["secret", "put", "KEY"], { input: "s3cret\n" })).text,
        /Success! Uploaded secret KEY/,
      );
      assert.equal((await visit()).key, "s3cret");
    });

    it("a deploy preserves the secrets", async () => {
      await wrangler.write("worker.js", worker("second"));
      await wrangler.run(["deploy"]);
      assert.deepEqual(await visit(), { edition: "second", key: "s3cret", two: null, later: null });
    });

    it("bulk stores several secrets and removes those set to null", async () => {
      await wrangler.write("secrets.json", JSON.stringify({ TWO: "2", LATER: "3" }));
      await wrangler.run(["secret", "bulk", "secrets.json"]);
      assert.deepEqual(await visit(), { edition: "second", key: "s3cret", two: "2", later: "3" });
      await wrangler.write("secrets.json", JSON.stringify({ TWO: "22", LATER: null }));
      await wrangler.run(["secret", "bulk", "secrets.json"]);
      assert.deepEqual(await visit(), { edition: "second", key: "s3cret", two: "22", later: null });
    });

    it("list shows names but never values, and delete removes a secret", async () => {
      assert.match((await wrangler.run(["secret", "delete", "TWO"])).text, /Success! Deleted secret TWO/);
      const { stdout } = await wrangler.run(["secret", "list", "--format", "json"]);
      assert.deepEqual(JSON.parse(stdout), [{ name: "KEY", type: "secret_text" }]);
      assert.equal((await visit()).two, null);
    });

    it("put for a missing worker creates a draft worker", async () => {
      const { text } = await wrangler.run(["secret", "put", "KEY", "--name", "drafted"], { input: "early" });
      assert.match(text, /Creating new Worker "drafted"[\s\S]*Success! Uploaded secret KEY/);
      const { stdout } = await wrangler.run(["secret", "list", "--name", "drafted"]);
      assert.deepEqual(JSON.parse(stdout), [{ name: "KEY", type: "secret_text" }]);
    });
  });

  describe("versions", () => {
    let second: string;
    let third: string;

    it("upload stores a version that does not receive traffic yet", async () => {
      second = (await lastDeployment()).versions[0]!.version_id;
      await wrangler.write("worker.js", worker("third"));
      const { text } = await wrangler.run(["versions", "upload", "--message", "the third", "--tag", "three"]);
      third = idIn(text);
      assert.equal((await visit()).edition, "second");
    });

    it("list and view show number, tag and message", async () => {
      const list = await printed<Version[]>(["versions", "list", "--json"]);
      assert.deepEqual(
        list.map(({ number }) => number),
        list.map((_, index) => index + 1),
      );
      assert.deepEqual(
        [list.at(-1)!.id, list.at(-1)!.annotations["workers/tag"], list.at(-1)!.annotations["workers/message"]],
        [third, "three", "the third"],
      );
      const { text } = await wrangler.run(["versions", "view", third]);
      for (const part of [third, /Tag:\s+three/, /Message:\s+the third/, /Handlers:\s+fetch/, /Secret Name:\s+KEY/])
        assert.match(text, new RegExp(part));
      assert.ok(!text.includes("s3cret"));
    });

    it("deploy splits the traffic by percentages", async () => {
      const { text } = await wrangler.run([
        "versions",
        "deploy",
        `${third}@50`,
        `${second}@50`,
        "-y",
        "--message",
        "half",
      ]);
      assert.match(text, /SUCCESS\s+Deployed shop version \S+ at 50% and version \S+ at 50%/);
      const received = new Set<string>();
      // The probability that a fair coin always shows the same side is 1 in 2^63.
      for (let visits = 0; visits < 64 && received.size < 2; visits++) received.add((await visit()).edition);
      assert.deepEqual([...received].sort(), ["second", "third"]);
      assert.match(
        (await wrangler.run(["deployments", "status"])).text,
        new RegExp(`Message:\\s+half[^]*\\(50%\\) ${third}[^]*\\(50%\\) ${second}`),
      );
    });

    it("0 and 100 percent send all traffic to one version", async () => {
      await wrangler.run(["versions", "deploy", `${third}@100%`, `${second}@0%`, "-y"]);
      for (let visits = 0; visits < 8; visits++) assert.equal((await visit()).edition, "third");
    });

    it("secret put, delete and bulk create versions without deploying them", async () => {
      assert.match(
        (await wrangler.run(["versions", "secret", "put", "LATER", "--message", "for later"], { input: "soon" })).text,
        new RegExp(`Created version ${UUID} with secret LATER`),
      );
      assert.equal((await visit()).later, null);
      const { id, annotations } = await lastVersion();
      assert.equal(annotations["workers/message"], "for later");
      await wrangler.run(["versions", "deploy", id, "-y"]);
      assert.deepEqual(await visit(), { edition: "third", key: "s3cret", two: null, later: "soon" });
      assert.match((await wrangler.run(["versions", "secret", "list"])).text, /Secret Name: KEY\s+Secret Name: LATER/);
      await wrangler.run(["versions", "secret", "delete", "LATER"]);
      await wrangler.write("secrets.json", JSON.stringify({ TWO: "from bulk" }));
      await wrangler.run(["versions", "secret", "bulk", "secrets.json"]);
      assert.equal((await visit()).later, "soon");
      await wrangler.run(["versions", "deploy", (await lastVersion()).id, "-y"]);
      assert.deepEqual(await visit(), { edition: "third", key: "s3cret", two: "from bulk", later: null });
    });

    it("rollback restores the specified version, or the previous stable one", async () => {
      const before = (await lastDeployment()).versions[0]!.version_id;
      assert.match(
        (await wrangler.run(["rollback", second, "-y", "--message", "back"])).text,
        new RegExp(`SUCCESS\\s+Worker Version ${second} has been deployed to 100%`),
      );
      assert.equal((await visit()).edition, "second");
      await wrangler.run(["rollback", "-y", "--message", "forth"]);
      const [back, forth] = (await printed<Deployment[]>(["deployments", "list", "--json"])).slice(-2);
      assert.deepEqual(
        [back!.annotations["workers/message"], back!.versions],
        ["back", [{ version_id: second, percentage: 100 }]],
      );
      assert.deepEqual(
        [forth!.annotations["workers/message"], forth!.versions],
        ["forth", [{ version_id: before, percentage: 100 }]],
      );
      assert.equal((await visit()).edition, "third");
    });
  });
});
