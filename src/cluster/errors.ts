import { defineErrors } from "../kernel/index.ts";

/** Errors of the nodes that share one database. */
export const clusterErrors = defineErrors("cluster", {
  badAddress: {
    code: "bad_address",
    http: 500,
    message: "{setting} is not a valid address with a port: {text}.",
    fix: "Use host:port, such as 10.0.0.11:8790 or [2001:db8::1]:8790.",
  },
  addressNeeded: {
    code: "address_needed",
    http: 500,
    message: "Other nodes cannot connect to {listen}, the address in cluster.listen.",
    fix: "Set cluster.address to the address of this machine on the internal network.",
  },
  databaseNeeded: {
    code: "database_needed",
    http: 500,
    message: "cluster.listen is set without database.url: nodes cannot share a SQLite database.",
    fix: "Set database.url to a PostgreSQL server, or remove cluster.listen.",
  },
  clockSkew: {
    code: "clock_skew",
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
