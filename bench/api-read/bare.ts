// The lower bound: a Hono route that returns the same bytes without authentication or database.
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const { list, get } = JSON.parse(process.env.BENCH_ANSWERS!) as { list: object; get: object };
const app = new Hono();
app.get("/client/v4/zones/:zone_id/dns_records", (context) => context.json(list));
app.get("/client/v4/zones/:zone_id/dns_records/:dns_record_id", (context) => context.json(get));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`),
);
