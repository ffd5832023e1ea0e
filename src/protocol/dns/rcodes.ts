/** Response codes (RFC 1035 4.1.1, RFC 2136 2.2, RFC 6891 6.1.3). */
export const RCODE = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImp: 4,
  refused: 5,
  notAuth: 9,
  badVersion: 16,
} as const;

/** Names of the response codes, indexed by number. */
export const RCODE_NAMES = [
  "NOERROR",
  "FORMERR",
  "SERVFAIL",
  "NXDOMAIN",
  "NOTIMP",
  "REFUSED",
  "YXDOMAIN",
  "YXRRSET",
  "NXRRSET",
  "NOTAUTH",
  "NOTZONE",
] as const;

/** Name of a response code for logs and comparisons; "RCODE 11" if unknown. */
export const rcodeName = (rcode: number): string =>
  rcode === RCODE.badVersion ? "BADVERS" : (RCODE_NAMES[rcode] ?? `RCODE ${rcode}`);
