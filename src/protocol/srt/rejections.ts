/**
 * Reasons for rejecting a handshake, sent as its type. Up to 1999 they are defined by SRT (draft-sharabayko-srt-01,
 * section 4.3); from 2000 they are HTTP statuses (2000 plus 400 to 599, as in libsrt's access control).
 */
export const SRT_REJECTION = {
  unknown: 1000,
  resource: 1003,
  rogue: 1004,
  backlog: 1005,
  closing: 1007,
  version: 1008,
  badSecret: 1010,
  unsecured: 1011,
  messageApi: 1012,
  congestion: 1013,
  filter: 1014,
  group: 1015,
  badRequest: 2400,
  unauthorized: 2401,
  overload: 2402,
  forbidden: 2403,
  notFound: 2404,
  badMode: 2405,
  conflict: 2407,
  unsupportedMedia: 2415,
  serverError: 2500,
  down: 2503,
} as const;

export type SrtRejection = keyof typeof SRT_REJECTION;
