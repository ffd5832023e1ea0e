import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { bundleDashboard } from "../../src/dashboard/bundle.ts";

const MAX_FIRST_LOAD = 200 * 1024;
const MAX_PAGE = 120 * 1024;

test("the first load is at most 200 KB with gzip, and no file names another host", async (t) => {
  const files = await bundleDashboard(join(import.meta.dirname, "../../web/dashboard"));
  const html = files.get("index.html")!.toString();
  const firstFiles = [...new Set([...html.matchAll(/"\/assets\/([^"]+)"/g)].map(([, name]) => name!))];
  const sizeOf = (name: string) => gzipSync(files.get(name)!, { level: 9 }).length;
  const firstLoad = firstFiles.reduce((sum, name) => sum + sizeOf(name), sizeOf("index.html"));
  t.diagnostic(`first load: ${(firstLoad / 1024).toFixed(1)} KB in ${firstFiles.length + 1} files`);
  assert.ok(firstLoad <= MAX_FIRST_LOAD, `${firstLoad} bytes`);
  assert.ok(firstFiles.some((name) => name.endsWith(".js")) && firstFiles.some((name) => name.endsWith(".css")));

  assert.doesNotMatch(html, /<script(?![^>]* src=)|<style|https?:/);
  for (const [name, body] of files) {
    if (name.endsWith(".css")) assert.doesNotMatch(body.toString(), /url\(["']?https?:|@import/, name);
    if (name.endsWith(".js") && !firstFiles.includes(name))
      assert.ok(sizeOf(name) <= MAX_PAGE, `${name} has ${sizeOf(name)} bytes`);
  }
});
