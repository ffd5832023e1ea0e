/**
 * Why a handshake is refused: the number that stands in its type field then. Up to 1999 they are SRT's own (draft-sharabayko-srt-01, section 4.3);
 * those from 2000 on say it in the manner of HTTP (2000 and a status from 400 to 599, as libsrt's access control has them).
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
