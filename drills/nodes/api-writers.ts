import { sendHttpRequest, formOf } from "../../test/e2e/serve-client.ts";
import type { Platform } from "./platform.ts";
import { checkItems, type Writer } from "./writer.ts";

const DOMAIN = "records.example";
const SCRIPTS = 3;
const PAGE = 1000;

/** Creates writers of deployments, DNS records and API tokens. */
export async function createApiWriters(platform: Platform): Promise<Writer[]> {
  return [deployer(platform), await recordWriter(platform), await tokenWriter(platform)];
}

/** Deploys increasing versions of a few workers. A node must serve the newest acknowledged version, or a later one. */
function deployer(platform: Platform): Writer {
  const newest = new Map<string, number>();
  let acknowledged = 0;
  return {
    kind: "deploys",
    pauseMs: 800,
    async write(n) {
      const script = `site-${n % SCRIPTS}`;
      const source = `export default { fetch() { return new Response("${n}"); } };`;
      const { api } = platform.any();
      await api.ok("put", `workers/scripts/${script}`, { body: formOf(source) });
      newest.set(script, n);
      acknowledged++;
      if (n < 10 * SCRIPTS) await api.ok("post", `workers/scripts/${script}/subdomain`, { body: { enabled: true } });
    },
    acknowledged: () => acknowledged,
    missing: ({ name, server }) =>
      checkItems(newest, async ([script, n]) => {
        const { status, body } = await sendHttpRequest(server.ready, "/", { host: `${script}.main.localhost` });
        return status === 200 && Number(body) >= n ? undefined : `${script} version ${n} on ${name}: ${status} ${body}`;
      }),
  };
}

async function recordWriter(platform: Platform): Promise<Writer> {
  const { api: setup } = platform.first();
  const { id: zone } = await setup.ok("post", "/zones", { body: { name: DOMAIN, account: { id: setup.account } } });
  const acknowledged: string[] = [];
  return {
    kind: "api",
    pauseMs: 200,
    async write(n) {
      const body = { type: "TXT", name: `t${n}.${DOMAIN}`, content: `"${n}"`, ttl: 300 };
      await platform.any().api.ok("post", `/zones/${zone}/dns_records`, { body });
      acknowledged.push(body.name);
    },
    acknowledged: () => acknowledged.length,
    async missing({ name, api }) {
      const names = new Set<string>();
      for (let page = 1; ; page++) {
        const records = await api.ok("get", `/zones/${zone}/dns_records?type=TXT&per_page=${PAGE}&page=${page}`);
        for (const record of records as { name: string }[]) names.add(record.name);
        if (records.length < PAGE) break;
      }
      return acknowledged.filter((record) => !names.has(record)).map((record) => `${record} on ${name}`);
    },
  };
}

/** Creates tokens and revokes nine out of ten. */
async function tokenWriter(platform: Platform): Promise<Writer> {
  const { api: setup } = platform.first();
  const groups = await setup.ok("get", "/user/tokens/permission_groups");
  const { id: group } = (groups as { id: string; name: string }[]).find(({ name }) => name === "Workers Scripts Read")!;
  const policies = [
    {
      effect: "allow",
      resources: { [`com.cloudflare.api.account.${setup.account}`]: "*" },
      permission_groups: [{ id: group }],
    },
  ];
  /** The expected response status for each token. */
  const expected = new Map<string, number>();
  return {
    kind: "tokens",
    pauseMs: 300,
    async write(n) {
      const { id, value } = await platform.any().api.ok("post", "/user/tokens", { body: { name: `t${n}`, policies } });
      if (n % 10 === 0) {
        expected.set(value, 200);
      } else {
        await platform.any().api.ok("delete", `/user/tokens/${id}`);
        expected.set(value, 401);
      }
    },
    acknowledged: () => expected.size,
    missing: ({ name, api }) =>
      checkItems(expected, async ([token, wanted]) => {
        const { status } = await api.call("get", "/user/tokens/verify", { token });
        return status === wanted ? undefined : `a token on ${name}: ${status} instead of ${wanted}`;
      }),
  };
}
