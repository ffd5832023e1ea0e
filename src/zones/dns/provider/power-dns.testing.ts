import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

interface ApiSet {
  name: string;
  type: string;
  ttl: number;
  records: { content: string; disabled: boolean }[];
}

/**
 * Starts a fake PowerDNS HTTP API for record sets of one zone. `filters`: false simulates old servers that ignore
 * rrset_name and list the whole zone.
 */
export async function startFakePowerDns(
  t: TestContext,
  { zone = "example.com.", apiKey = "secret", filters = true } = {},
) {
  const sets = new Map<string, ApiSet>();
  const seen: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const url = new URL(request.url!, "http://x");
    seen.push(`${request.method} ${url.pathname}`);
    const answer = (status: number, value?: object) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(value && JSON.stringify(value));
    if (request.headers["x-api-key"] !== apiKey) return answer(401, { error: "Unauthorized" });
    if (decodeURIComponent(url.pathname) !== `/api/v1/servers/localhost/zones/${zone}`)
      return answer(404, { error: "Not Found" });
    if (request.method === "GET") {
      const wanted = filters ? url.searchParams.get("rrset_name") : null;
      return answer(200, {
        id: zone,
        name: zone,
        kind: "Native",
        rrsets: [...sets.values()].filter(({ name }) => wanted === null || name === wanted),
      });
    }
    const changes = (JSON.parse(body) as { rrsets: (ApiSet & { changetype: string })[] }).rrsets;
    const problem = changes.map(problemWith).find((found) => found !== undefined);
    if (problem !== undefined) return answer(422, { error: problem });
    for (const { changetype, ...set } of changes) {
      if (changetype === "DELETE") sets.delete(`${set.name} ${set.type}`);
      else sets.set(`${set.name} ${set.type}`, set);
    }
    answer(204);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sets, seen };

  function problemWith({ name, type, ttl, records, changetype }: ApiSet & { changetype: string }): string | undefined {
    if (!name.endsWith(zone)) return `RRset ${name} IN ${type}: Name is out of zone`;
    if (changetype === "DELETE") return records.length > 0 ? "DELETE takes no records" : undefined;
    if (!Number.isInteger(ttl)) return "TTL must be a number";
    if (new Set(records.map(({ content }) => content)).size < records.length)
      return `RRset ${name} IN ${type} has duplicate content`;
    const relative = records.find(({ content }) => ["MX", "CNAME", "SRV"].includes(type) && !content.endsWith("."));
    if (relative !== undefined) return `Record ${name}/${type} '${relative.content}': Not in expected format`;
    const others = [...sets.values()].filter((set) => set.name === name && set.type !== type);
    return others.some((set) => set.type === "CNAME" || type === "CNAME")
      ? `RRset ${name} IN ${type}: Conflicts with pre-existing RRset`
      : undefined;
  }
}
