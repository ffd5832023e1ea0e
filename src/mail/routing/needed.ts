import type { DkimRecord } from "../dkim-keys/index.ts";

/** What the records of a routed name say; the operator's own hosts. */
export interface RoutingHosts {
  /** Where mail of routed names arrives. */
  mx: readonly { host: string; priority: number }[];
  /** Holds the SPF record that lists the addresses mail leaves from. */
  spfInclude: string;
  /** Of the first DKIM key of a name; a rotation counts on from it. */
  dkimSelector: string;
  /** Also an Ed25519 key (RFC 8463) for each name. Default false. */
  dkimEd25519?: boolean;
}

export interface NeededRecord {
  type: "MX" | "TXT";
  name: string;
  /** Of TXT the bare text. */
  content: string;
  priority?: number;
  /** 1 is automatic. */
  ttl: 1;
}

export const mxRecords = (name: string, { mx }: RoutingHosts): NeededRecord[] =>
  mx.map(({ host, priority }) => ({ type: "MX", name, content: host, priority, ttl: 1 }));

export const spfRecord = (name: string, { spfInclude }: RoutingHosts): NeededRecord => ({
  type: "TXT",
  name,
  content: `v=spf1 include:${spfInclude} ~all`,
  ttl: 1,
});

export const dkimRecords = (name: string, keys: readonly DkimRecord[]): NeededRecord[] =>
  keys.map(({ selector, text }) => ({ type: "TXT", name: `${selector}._domainkey.${name}`, content: text, ttl: 1 }));

export const neededRecords = (name: string, hosts: RoutingHosts, keys: readonly DkimRecord[]): NeededRecord[] => [
  ...mxRecords(name, hosts),
  spfRecord(name, hosts),
  ...dkimRecords(name, keys),
];
