export const ZONE_TYPES = ["full", "partial", "secondary", "internal"] as const;
export type ZoneType = (typeof ZONE_TYPES)[number];
export const ZONE_STATUSES = ["initializing", "pending", "active", "moved"] as const;
export type ZoneStatus = (typeof ZONE_STATUSES)[number];

/** Times are epoch milliseconds. */
export interface Zone {
  id: string;
  account: string;
  /** Lower-case A-labels without a trailing dot. */
  name: string;
  type: ZoneType;
  status: ZoneStatus;
  paused: boolean;
  /** Hosts to which the registrar must delegate. */
  nameServers: string[];
  vanityNameServers: string[];
  /** The TXT value that proves ownership of a partial zone. */
  verificationKey: string | null;
  createdAt: number;
  modifiedAt: number;
  activatedAt: number | null;
  /** Increases with every change to its records (RFC 1035 3.3.13). */
  serial: number;
}
