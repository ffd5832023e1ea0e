import assert from "node:assert/strict";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { folderWith } from "../cli.testing.ts";
import { DEFAULT_URL, apiUrl, findCredentials } from "./credentials.ts";
import { loginFile, readLogin, removeLogin, writeLogin } from "./login-file.ts";

const login = { url: "https://login.example/client/v4", token: "of-login", account: "of-login" };

test("the command line precedes the environment, which precedes the login and the configuration", () => {
  const env = {
    API_TOKEN: "plain",
    REELPOST_API_TOKEN: "own",
    CLOUDFLARE_API_TOKEN: "theirs",
    CLOUDFLARE_ACCOUNT_ID: "theirs",
    CLOUDFLARE_API_BASE_URL: "https://env.example/client/v4",
  };
  assert.deepEqual(
    findCredentials({ url: "http://given", token: "given", account: "given" }, env, login, "configured"),
    { url: "http://given/client/v4", token: "given", account: "given" },
  );
  assert.deepEqual(findCredentials({}, env, login, "configured"), {
    url: "https://env.example/client/v4",
    token: "plain",
    account: "theirs",
  });
  assert.deepEqual(findCredentials({}, { ...env, API_TOKEN: "" }, login), {
    url: "https://env.example/client/v4",
    token: "own",
    account: "theirs",
  });
  assert.deepEqual(findCredentials({}, {}, login, "configured"), {
    url: login.url,
    token: "of-login",
    account: "of-login",
  });
  assert.deepEqual(findCredentials({}, {}, undefined, "configured"), {
    url: DEFAULT_URL,
    token: undefined,
    account: "configured",
  });
});

test("a login token is sent only to its own server", () => {
  assert.deepEqual(findCredentials({ url: "http://elsewhere" }, {}, login), {
    url: "http://elsewhere/client/v4",
    token: undefined,
    account: undefined,
  });
  assert.equal(findCredentials({}, { API_BASE_URL: "http://elsewhere" }, login).token, undefined);
  assert.equal(findCredentials({ url: "https://login.example" }, {}, login).token, "of-login");
});

test("accepts server URLs in the forms that users type", () => {
  for (const [text, url] of [
    ["127.0.0.1:8787", "http://127.0.0.1:8787/client/v4"],
    ["localhost:80/", "http://localhost/client/v4"],
    ["https://a.example/", "https://a.example/client/v4"],
    ["https://a.example/base/client/v4//", "https://a.example/base/client/v4"],
    ["http://a/client/v4", "http://a/client/v4"],
  ] as const)
    assert.equal(apiUrl(text, "--url"), url);
  for (const text of ["ftp://a", "http://", "https://user:x@a", "https://a/?x=1", "a b"])
    assert.throws(() => apiUrl(text, "--url"), { code: "E_BAD_URL" }, text);
});

test("a login file is readable only by its owner and written atomically, and a damaged one is reported", async (t) => {
  const folder = await folderWith(t);
  assert.equal(loginFile({ HOME: "/h" }), "/h/.config/reelpost/credentials.json");
  assert.equal(loginFile({ HOME: "/h", XDG_CONFIG_HOME: "/x" }), "/x/reelpost/credentials.json");
  assert.equal(loginFile({ HOME: "/h", XDG_CONFIG_HOME: "relative" }), "/h/.config/reelpost/credentials.json");
  const file = loginFile({ HOME: folder });
  assert.equal(await readLogin(file), undefined);
  await writeLogin(file, login);
  assert.deepEqual(await readLogin(file), login);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await chmod(file, 0o644);
  await writeLogin(file, { url: login.url, token: "new" });
  assert.deepEqual(
    [(await stat(file)).mode & 0o777, JSON.parse(await readFile(file, "utf8"))],
    [0o600, { url: login.url, token: "new" }],
  );
  await writeFile(file, "{");
  await assert.rejects(readLogin(file), { code: "E_LOGIN_UNREADABLE" });
  assert.deepEqual([await removeLogin(file), await removeLogin(file)], [true, false]);
  await assert.rejects(
    writeLogin(join(folder, "wrangler.json", "x"), login).then(() =>
      writeLogin(join(folder, "wrangler.json", "x", "y"), login),
    ),
    { code: "E_LOGIN_UNWRITABLE" },
  );
});
