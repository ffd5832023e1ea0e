export const ZONE_TYPES = ["full", "partial", "secondary", "internal"] as const;
export type ZoneType = (typeof ZONE_TYPES)[number];
export const ZONE_STATUSES = ["initializing", "pending", "active", "moved"] as const;
export type ZoneStatus = (typeof ZONE_STATUSES)[number];

/** Times are epoch milliseconds. */
export interface Zone {
  id: string;
  account: string;
  /** A-labels in lower case, without a dot at the end. */
  name: string;
  type: ZoneType;
  status: ZoneStatus;
  paused: boolean;
  /** Hosts that the registrar is to delegate to. */
  nameServers: string[];
  vanityNameServers: string[];
  /** What a partial zone proves its ownership with. */
  verificationKey: string | null;
  createdAt: number;
  modifiedAt: number;
  activatedAt: number | null;
  /** Grows with every change of its records (RFC 1035 3.3.13). */
  serial: number;
}
