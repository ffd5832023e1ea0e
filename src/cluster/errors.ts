import { defineErrors } from "../kernel/index.ts";

/** Errors of the nodes that share one database. */
export const clusterErrors = defineErrors("cluster", {
  clocksApart: {
    code: "clocks_apart",
    http: 500,
    message: "The clock of this machine is {seconds} s {direction} the clock of the database.",
    fix: "Synchronize the clocks of both machines with NTP, for example with chrony.",
  },
  versionsApart: {
    code: "versions_apart",
    http: 500,
    message: "Node {name} runs Reelpost {other}, which cannot share a database with {version}.",
    fix: "Upgrade all nodes to the same version, one minor version at a time; see docs/cluster.md.",
  },
});
