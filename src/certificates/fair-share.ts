/** A host of a tenant that needs a certificate. */
export interface TenantHost {
  /** In lower case. */
  host: string;
  account: string;
}

interface ShareLimits {
  /** Maximum number of hosts across all accounts. */
  total: number;
  /** Maximum number of hosts of one account. */
  perAccount: number;
}

/** Returns the hosts that get a certificate of their own. Calls `select` to choose those that fit the limits. */
export type TenantHosts = (
  select: (hosts: readonly TenantHost[], limits: ShareLimits) => TenantHost[],
) => Promise<TenantHost[]>;

/**
 * Shares a limited number of certificates between accounts. Hosts whose certificate has been issued keep it: a new host
 * of another account never displaces them. The remaining places go in turn to the accounts with the fewest hosts.
 * Within an account, the order of `hosts` decides.
 */
export function shareFairly(
  hosts: readonly TenantHost[],
  { total, perAccount }: ShareLimits,
  isIssued: (host: string) => boolean,
): TenantHost[] {
  const queues = [...Map.groupBy(hosts, ({ account }) => account).values()].map((ownHosts) => {
    const issued = ownHosts.filter(({ host }) => isIssued(host));
    return { issued, all: [...issued, ...ownHosts.filter(({ host }) => !isIssued(host))] };
  });
  const selected: TenantHost[] = [];
  const select = (host: TenantHost | undefined) => {
    if (host !== undefined && selected.length < total) selected.push(host);
  };
  for (let turn = 0; turn < perAccount; turn++) for (const { issued } of queues) select(issued[turn]);
  for (let turn = 0; turn < perAccount; turn++)
    for (const { issued, all } of queues) if (turn >= issued.length) select(all[turn]);
  return selected;
}
