import { z } from "zod";
import { count, group } from "./setting-types.ts";

export const clusterSettings = group("Several nodes on one PostgreSQL database", {
  name: z.string().max(100).default("").meta({
    description: "Name of this node in lists and log lines; empty: the machine's host name",
    example: "node-1",
  }),
  listen: z.string().default("").meta({
    description:
      "`address:port` of the internal listener, to which other nodes forward requests for the roles of this one; port 0 selects a free one. It accepts only nodes with the same secrets key. Empty: this node neither forwards requests nor receives any",
    example: "10.0.0.11:8790",
  }),
  address: z.string().default("").meta({
    description: "`host:port` at which the other nodes reach the internal listener; empty: that of `listen`",
    example: "node-1.internal:8790",
  }),
  drain_seconds: count(
    5,
    0,
    60,
    "Seconds for which the node keeps accepting connections after SIGTERM, while /readyz already returns 503. Only if `listen` is set",
  ),
});
