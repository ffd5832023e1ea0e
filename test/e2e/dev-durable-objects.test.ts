import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createScope, makeProject, serve, writeProjectFile, type TestServer } from "./dev-bench.ts";

const WORKER = (className: string) => `
import { DurableObject } from "cloudflare:workers";
export class ${className} extends DurableObject<Env> {
  add(): number {
    const n = (this.ctx.storage.kv.get<number>("n") ?? 0) + 1;
    this.ctx.storage.kv.put("n", n);
    return n;
  }
  async soon() { await this.ctx.storage.setAlarm(Date.now() + 50); }
  alarm() { console.log("alarm of", this.ctx.id.name); }
}
interface Env { COUNTER: DurableObjectNamespace<${className}> }
export default {
  async fetch(request: Request, env: Env) {
    const stub = env.COUNTER.getByName("a");
    if (request.url.endsWith("/soon")) await stub.soon();
    return Response.json(await stub.add());
  },
};
`;
const CALLER = `export default { fetch: async (request, env) => Response.json([await env.COUNTER.getByName("a").add(), await env.COUNTER.get(env.COUNTER.newUniqueId()).add()]) };`;
const config = (className: string, migrations: object[]) => ({
  name: "counters",
  durable_objects: { bindings: [{ name: "COUNTER", class_name: className }] },
  migrations,
});
const FIRST = { tag: "v1", new_sqlite_classes: ["Counter"] };

describe("Durable Objects in development", () => {
  const scope = createScope();
  let folder = "";
  let caller = "";
  before(async () => {
    folder = await makeProject(scope, { "src/index.ts": WORKER("Counter") }, config("Counter", [FIRST]));
    caller = await makeProject(
      scope,
      { "src/index.ts": CALLER },
      {
        name: "caller",
        durable_objects: { bindings: [{ name: "COUNTER", class_name: "Tally", script_name: "counters" }] },
      },
    );
  });
  after(scope.close);
  const get = async (server: TestServer, path = "/") => (await fetch(`${server.url}${path}`)).json();

  it("persist across a restart and a rebuild, and their alarms are reported", async () => {
    const firstServer = await serve(scope, folder);
    assert.deepEqual([await get(firstServer), await get(firstServer)], [1, 2]);
    await firstServer.rebuild();
    assert.equal(await get(firstServer, "/soon"), 3);
    await firstServer.event((event) => JSON.stringify(event).includes('"alarm of"'));
    await firstServer.close();
    const secondServer = await serve(scope, folder);
    assert.equal(await get(secondServer), 4);
    await secondServer.close();
  });

  it("keep their data when their class is renamed, and can be called by another worker of the server", async () => {
    const renameMigration = { tag: "v2", renamed_classes: [{ from: "Counter", to: "Tally" }] };
    await writeProjectFile(folder, "src/index.ts", WORKER("Tally"));
    await writeProjectFile(
      folder,
      "wrangler.jsonc",
      JSON.stringify({
        main: "src/index.ts",
        compatibility_date: "2026-10-01",
        ...config("Tally", [FIRST, renameMigration]),
      }),
    );
    const server = await serve(scope, folder, {
      configs: [`${folder}/wrangler.jsonc`, `${caller}/wrangler.jsonc`],
    });
    assert.equal(await get(server), 5);
    assert.deepEqual(await get(server, "/cdn-cgi/worker/caller/"), [6, 1]);
    await server.close();
  });
});
