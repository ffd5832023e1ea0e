import { z } from "zod";
import { count, group } from "./setting-types.ts";

export const clusterSettings = group("Several nodes on one PostgreSQL database", {
  name: z.string().max(100).default("").meta({
    description: "Name of this node in lists and log messages; empty: the machine's host name",
    example: "node-1",
  }),
  listen: z.string().default("").meta({
    description:
      "`address:port` of the internal listener, to which other nodes forward requests for the roles of this node; port 0 selects a free port. It accepts only nodes with the same secrets key. Empty: this node neither forwards requests nor receives forwarded ones",
    example: "10.0.0.11:8790",
  }),
  address: z.string().default("").meta({
    description: "`host:port` at which other nodes reach the internal listener; empty: the address in `listen`",
    example: "node-1.internal:8790",
  }),
  drain_seconds: count(
    5,
    0,
    60,
    "Seconds during which the node still accepts connections after SIGTERM, while /readyz returns 503. Only if `listen` is set",
  ),
});
