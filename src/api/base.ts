/** Where the v4 API lives on the platform port. */
export const API_BASE = "/client/v4";
