import type { DkimRecord } from "../dkim-keys/index.ts";

/** The hosts that the records of a routed name refer to, configured by the operator. */
export interface RoutingHosts {
  /** MX hosts for the routed names. */
  mx: readonly { host: string; priority: number }[];
  /** The name of the SPF record that lists this server's sending addresses. */
  spfInclude: string;
  /** The selector of the first DKIM key of a name; rotations increment it. */
  dkimSelector: string;
  /** Also creates an Ed25519 key (RFC 8463) for each name. Default false. */
  dkimEd25519?: boolean;
}

export interface NeededRecord {
  type: "MX" | "TXT";
  name: string;
  /** The content; for TXT, the unquoted text. */
  content: string;
  priority?: number;
  /** The value 1 means automatic. */
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
