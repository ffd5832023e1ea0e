import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { WebSocket } from "ws";
import type { PlatformServer } from "../../src/server/index.ts";
import { createScope } from "./dev-bench.ts";
import { createApi, servePlatform, TOKEN, type Api } from "./serve-client.ts";

const ACCOUNT = "com.cloudflare.api.account";

describe("a revoked token", () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  before(async () => {
    server = await servePlatform(scope);
    api = createApi(server, TOKEN);
    await api.deploy("mail", "export default { fetch: () => new Response('hi') }");
    await api.ok("post", "/zones", { body: { name: "sender.example", account: { id: api.account }, type: "full" } });
  });
  after(() => scope.close());

  async function make(): Promise<{ id: string; value: string }> {
    const groups: { id: string; name: string; scopes: string[] }[] = await api.ok(
      "get",
      "/user/tokens/permission_groups",
    );
    const of = (scope: string) => groups.filter(({ scopes }) => scopes[0] === scope).map(({ id }) => ({ id }));
    const policies = [
      { effect: "allow", permission_groups: of(ACCOUNT), resources: { [`${ACCOUNT}.${api.account}`]: "*" } },
      {
        effect: "allow",
        permission_groups: of(`${ACCOUNT}.zone`),
        resources: { [`${ACCOUNT}.${api.account}`]: { [`${ACCOUNT}.zone.*`]: "*" } },
      },
    ];
    return api.ok("post", "/user/tokens", { body: { name: "one", policies } });
  }

  test("closes the SMTP session it opened", async () => {
    const { id, value } = await make();
    const socket = connect({ host: server.submission!.host, port: server.submission!.port, rejectUnauthorized: false });
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
    const reply = async () => {
      for (;;) {
        const { value: line = "(closed)", done } = await lines.next();
        if (done === true || /^\d{3} /.test(line)) return line as string;
      }
    };
    const say = (line: string) => (socket.write(`${line}\r\n`), reply());
    await reply();
    await say("EHLO client.example");
    assert.match(await say(`AUTH PLAIN ${Buffer.from(`\0api_token\0${value}`).toString("base64")}`), /^235 /);
    assert.match(await say("MAIL FROM:<a@sender.example>"), /^250 /);
    assert.match(await say("RSET"), /^250 /);
    await api.ok("delete", `/user/tokens/${id}`);
    assert.match(await say("MAIL FROM:<a@sender.example>"), /^421 4\.7\.0 /);
    assert.equal(await reply(), "(closed)");
  });

  test("closes the tails it started", async () => {
    const { id, value } = await make();
    const { url } = await api.ok("post", "workers/scripts/mail/tails", { token: value, body: {} });
    const socket = new WebSocket(url, "trace-v1");
    await once(socket, "open");
    const closed = once(socket, "close");
    await api.ok("delete", `/user/tokens/${id}`);
    assert.equal((await closed)[0], 1000);
    const again = new WebSocket(url, "trace-v1");
    const [request, response] = await once(again, "unexpected-response");
    assert.equal(response.statusCode, 404);
    request.destroy();
  });
});
