// The same on PostgreSQL: a Hono route that reads the rows with pg's prepared statements and returns them as JSON,
// without authentication.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { Pool, types } from "pg";

types.setTypeParser(20, Number);
const pool = new Pool({ connectionString: process.env.BENCH_DATABASE_URL!, max: 10 });
const app = new Hono();
app.get("/client/v4/zones/:zone_id/dns_records", async (context) => {
  const zone = context.req.param("zone_id");
  const [page, total] = await Promise.all([
    pool.query({
      name: "page",
      text: "select * from dns_records where zone_id = $1 order by type, name, digest limit 20",
      values: [zone],
    }),
    pool.query({ name: "total", text: "select records from dns_record_counts where zone_id = $1", values: [zone] }),
  ]);
  return context.json({ success: true, result: page.rows, result_info: total.rows[0] });
});
app.get("/client/v4/zones/:zone_id/dns_records/:dns_record_id", async (context) => {
  const { zone_id, dns_record_id } = context.req.param();
  const { rows } = await pool.query({
    name: "record",
    text: "select * from dns_records where id = $1 and zone_id = $2",
    values: [dns_record_id, zone_id],
  });
  return context.json({ success: true, result: rows[0] });
});
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`),
);
