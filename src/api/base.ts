/** Path of the v4 API on the platform port. */
export const API_BASE = "/client/v4";
