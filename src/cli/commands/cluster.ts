import { connectToApi } from "../api/connect.ts";
import { type Command, defineCommand } from "../command.ts";
import { nameValueLines, formatUtcTime, plural, printResult, table } from "../print.ts";
import { serverOptions } from "../shared-options.ts";

interface ClusterStatus {
  node: string;
  nodes: {
    id: string;
    name: string;
    address: string | null;
    roles: string[];
    version: string;
    load: number;
    started: string;
    silent_ms: number;
    draining: boolean;
  }[];
  clock: { difference_ms: number; round_trip_ms: number; agrees: boolean } | null;
  database: {
    kind: string;
    round_trip_ms: number;
    standbys: { name: string; state: string; synchronization: string; lag_bytes: number | null }[] | null;
  };
  objects: { round_trip_ms: number | null; error: string | null };
  leases: { kind: string; node: string | null; count: number }[];
}

const ms = (value: number) => `${value.toFixed(1)} ms`;

const clusterStatus = defineCommand({
  name: "cluster status",
  summary: "show the nodes, their leases, and the state of the database and the object store (operators only)",
  description:
    "A node remains listed for six seconds after its last heartbeat. The exit code is 1 if the clock of the responding node differs from the database's clock by more than a second, or if the object store does not respond.",
  options: serverOptions,
  examples: [
    ["reelpost cluster status", "nodes and their roles"],
    ["reelpost cluster status --json", "for scripts"],
  ],
  async run(values, _, context) {
    const { api, base } = await connectToApi(values, context);
    const status = await api.result<ClusterStatus>("GET", `${base}/server/cluster`);
    const nameOf = (id: string | null) => status.nodes.find((node) => node.id === id)?.name ?? "(not live)";
    const { clock, database, objects } = status;
    printResult(context, status, (paint) => [
      ...table(
        ["node", "address", "roles", "version", "load", "started", "state"],
        status.nodes.map((node) => [
          node.id === status.node ? `${node.name} *` : node.name,
          node.address ?? "none",
          node.roles.join(","),
          node.version,
          `${node.load} %`,
          formatUtcTime(node.started),
          node.draining ? "draining" : "live",
        ]),
        paint,
      ),
      "",
      ...nameValueLines(
        [
          ["responding node", `${nameOf(status.node)} *`],
          [
            "clock",
            clock === null
              ? undefined
              : `${clock.agrees ? "differs" : paint("red", "differs")} by ${ms(Math.abs(clock.difference_ms))} from the database, round trip ${ms(clock.round_trip_ms)}`,
          ],
          ["database", `${database.kind}, round trip ${ms(database.round_trip_ms)}`],
          [
            "objects",
            objects.error === null ? `round trip ${ms(objects.round_trip_ms!)}` : paint("red", objects.error),
          ],
        ],
        paint,
      ),
      ...(database.standbys === null || database.standbys.length === 0
        ? []
        : [
            "",
            ...table(
              ["standby", "state", "synchronization", "lag"],
              database.standbys.map(({ name, state, synchronization, lag_bytes: lag }) => [
                name,
                state,
                synchronization,
                lag === null ? "unknown" : plural(lag, "byte"),
              ]),
              paint,
            ),
          ]),
      ...(status.leases.length === 0
        ? []
        : [
            "",
            ...table(
              ["lease", "node", "count"],
              status.leases.map(({ kind, node, count }) => [kind, nameOf(node), count]),
              paint,
            ),
          ]),
    ]);
    return clock?.agrees === false || objects.error !== null ? 1 : 0;
  },
});

export const clusterCommands: readonly Command[] = [clusterStatus];
