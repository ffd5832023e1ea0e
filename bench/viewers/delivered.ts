/** A measurement window may begin or end within a key frame or part, which accounts for a few percent. */
const MIN_DELIVERED = 0.9;

/** `octets`: received by all viewers per second; `published`: octets per second that each of them should receive. */
export const deliveredShare = ({
  octets,
  viewers,
  published,
}: {
  octets: number;
  viewers: number;
  published: number;
}): number => octets / viewers / published;

/** Throws if the viewers did not receive what was published: their CPU time would be too low. */
export function requireDelivered(protocol: string, viewers: number, delivered: number): void {
  // Also true for NaN.
  if (delivered >= MIN_DELIVERED) return;
  throw new Error(
    `${protocol}: ${viewers} viewers received ${(delivered * 100).toFixed(0)} % of the published media, less than ${MIN_DELIVERED * 100} %. Stop other programs on this machine, or reduce MANY in bench/viewers.bench.ts.`,
  );
}
