import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { createScope } from "../e2e/dev-bench.ts";
import { spawnServe } from "../support/serve.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
const clients = join(import.meta.dirname, "..", "clients", "package.json");
const { parse } = createRequire(clients)("yaml") as { parse(text: string): unknown };
const read = (...path: string[]) => readFile(join(deploy, ...path), "utf8");

/** Returns the names of metrics in a PromQL expression: of this program, of Node and of the process. */
const metricsIn = (expression: string) => expression.match(/\b(?:reelpost|nodejs|process)_[a-z0-9_]+/g) ?? [];

describe("the alert rules and the dashboard", () => {
  let offered = new Set<string>();
  before(async () => {
    const scope = createScope();
    try {
      const { ready } = await spawnServe(scope, {});
      const body = await (await fetch(`${ready.url}/metrics`)).text();
      const types = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
      offered = new Set(
        types.flatMap(([, name, type]) =>
          type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name!],
        ),
      );
    } finally {
      await scope.close();
    }
  });

  test("every metric in the alert rules exists in /metrics", async () => {
    const { groups } = parse(await read("prometheus", "alerts.yaml")) as {
      groups: { rules: { alert: string; expr: string; annotations: { summary: string; description: string } }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    assert.ok(rules.length >= 10);
    for (const { alert, expr, annotations } of rules) {
      const names = metricsIn(expr);
      assert.ok(names.length > 0 || expr.startsWith("up{"), alert);
      for (const name of names) assert.ok(offered.has(name), `${alert} uses ${name}`);
      assert.ok(annotations.summary && annotations.description, alert);
    }
  });

  test("every metric in the Grafana dashboard exists in /metrics", async () => {
    const dashboard = JSON.parse(await read("grafana", "reelpost.json")) as {
      panels: { id: number; title: string; targets: { expr: string }[] }[];
      templating: { list: { query: string }[] };
    };
    const expressions = [
      ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list.map(({ query }) => query),
    ];
    const names = expressions.flatMap(metricsIn);
    assert.ok(names.length > dashboard.panels.length);
    for (const name of names) assert.ok(offered.has(name), name);
    assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
  });
});

test("compose.yaml publishes the ports of the image and uses only existing settings", async () => {
  const { services } = parse(await read("compose.yaml")) as {
    services: Record<string, { ports: string[]; environment: Record<string, string>; volumes: string[] }>;
  };
  const { ports, environment, volumes } = services["reelpost"]!;
  const [, exposed] = /^EXPOSE (.*)$/m.exec(await read("Dockerfile"))!;
  const exposedPorts = exposed!.split(" ").map((port) => port.replace("/tcp", ""));
  for (const port of ports) {
    const inside = port.split(":")[1]!.replace("/tcp", "");
    assert.ok(exposedPorts.includes(inside), `${port} is not in EXPOSE ${exposed}`);
  }
  const settings = await read("settings.jsonc");
  for (const name of Object.keys(environment)) assert.ok(settings.includes(` ${name}`), name);
  assert.deepEqual(volumes, ["data:/data"]);
});
